//! Code as scripts have it.

use super::*;

fn run(code: &str) -> Result<Vec<String>, Stopped> {
    let mut interpreter = Interpreter::default();
    let lookup = |name: &str| match name {
        "tcpi_snd_cwnd" => Some(Value::Integer(10)),
        "tcpi_snd_ssthresh" => Some(Value::Integer(i128::from(i32::MAX))),
        "TCP_CA_Open" => Some(Value::Integer(0)),
        _ => None,
    };
    interpreter.run(code, &lookup).map(|()| interpreter.printed)
}

#[test]
fn assertions_that_hold_pass() {
    for code in [
        "assert tcpi_snd_cwnd == 10",
        " assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd ",
        "\nassert tcpi_snd_cwnd == 10, 'cwnd=%d' % tcpi_snd_cwnd\nassert tcpi_snd_ssthresh == 2147483647\n",
        "assert 9 <= tcpi_snd_cwnd < 11 and not tcpi_snd_cwnd != 10 or False",
        "assert (tcpi_snd_cwnd * 2 - 3) // 4 == 4 and -7 // 2 == -4 and -7 % 3 == 2",
        "assert tcpi_snd_cwnd in (9, 10) and 3 not in [1, 2]",
        "assert abs(-3) == 3 and min(1, 2) == 1 and max((4, 5)) == 5 and int(7 / 2) == 3",
        "assert 7 / 2 == 3.5 and 2 ** 10 == 0x400 and 1 << 4 | 1 == 17 and 6 & 3 == 2",
        "x = tcpi_snd_cwnd; y = x + 1\nassert y == 11",
        "x = tcpi_snd_cwnd; x += 2 * 3; x //= 4\nassert x == 4",
        "if tcpi_snd_cwnd > 20:\n  assert False\nelif tcpi_snd_cwnd == 10:\n  pass\nelse:\n  assert False",
        "assert (tcpi_snd_cwnd ==\n  10), 'x'\nassert \\\n True",
        "assert (1 if tcpi_snd_cwnd else 2) == 1 and TCP_CA_Open == 0 # the rest is a comment",
        "import os\nassert None == None and 'a' != 1 and 'ab' in 'cabs'",
    ] {
        assert_eq!(run(code), Ok(Vec::new()), "{code}");
    }
}

#[test]
fn an_assertion_that_does_not_hold_says_what_the_values_are() {
    let Err(Stopped::Failed { line, text, values, message }) =
        run("\n\nassert tcpi_snd_cwnd == 11 and tcpi_snd_cwnd > 1, 'cwnd %d%%' % tcpi_snd_cwnd")
    else {
        panic!("it fails")
    };
    assert_eq!((line, message.as_deref()), (2, Some("cwnd 10%")));
    assert!(text.starts_with("assert tcpi_snd_cwnd == 11"), "{text}");
    assert_eq!(values, [("tcpi_snd_cwnd".to_owned(), Value::Integer(10))]);
}

#[test]
fn print_collects_lines_in_both_dialects() {
    assert_eq!(run("print tcpi_snd_cwnd\nprint('a', 1.5)").expect("runs"), ["10", "a 1.5"]);
}

#[test]
fn what_is_not_there_is_named_with_its_line() {
    for (code, line, message) in [
        ("\nassert tcpi_nothing == 1", 1, "the name `tcpi_nothing` in code"),
        ("assert len(1) == 1", 0, "the function `len` with 1 arguments in code"),
        ("assert 1 / 0", 0, "a division by zero in code"),
        ("for x in y: pass", 0, "`x` is not understood here"),
        ("assert (1", 0, "expected `,` or `)`"),
        ("assert", 0, "expected a value at the end of the line"),
        ("if 1:", 0, "expected an indented block"),
        ("pass\n  pass", 1, "unexpected indentation"),
        ("assert 'a", 0, "a string is not closed"),
        ("assert 1 ** 99999999999", 0, "a number in code is too large, or a division by zero"),
    ] {
        assert_eq!(run(code), Err(Stopped::Lacking { line, message: message.to_owned() }), "{code}");
    }
    let deep = format!("assert {}", "(".repeat(100_000));
    assert!(matches!(run(&deep), Err(Stopped::Lacking { .. })));
    let powers = format!("assert 1{}", "**1".repeat(100_000));
    assert!(matches!(run(&powers), Err(Stopped::Lacking { .. })));
}
