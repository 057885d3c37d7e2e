//! Shell commands as text: only their words are read, and nothing is ever run.

use crate::error::Lacking;

/// The commands of a text, each as its words. Redirections are left out, and arithmetic expansions are evaluated.
///
/// # Errors
/// If a command expands something else, whose value is not in the text.
pub fn commands(text: &str) -> Result<Vec<Vec<String>>, Lacking> {
    let text = text.replace("\\\n", " ").replace("&&", ";").replace("||", ";");
    let commands =
        text.split([';', '\n']).map(|command| words(command).iter().map(|word| expand(word)).collect());
    commands.collect()
}

/// The words of one command; quotes keep white space together.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for character in command.chars() {
        match quote {
            Some(mark) if character == mark => quote = None,
            Some(_) => word.push(character),
            None if character == '"' || character == '\'' => quote = Some(character),
            None if character == '#' && word.is_empty() => break,
            None if character.is_whitespace() => words.push(std::mem::take(&mut word)),
            None => word.push(character),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    without_redirections(words)
}

/// Words without those that silence a command; a redirection into a file that matters is kept as `>` and the file.
fn without_redirections(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some(target) = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('>') else {
            kept.push(word);
            continue;
        };
        // `>` and its target are two words, `>/dev/null` and `2>&1` are one.
        let target = target.trim_start_matches('>');
        let target = if target.is_empty() { words.next().unwrap_or_default() } else { target.to_owned() };
        if target != "/dev/null" && !target.starts_with('&') {
            kept.extend([">".to_owned(), target]);
        }
    }
    kept
}

/// Evaluates each `$((...))` of a word.
fn expand(word: &str) -> Result<String, Lacking> {
    let mut expanded = String::new();
    let mut rest = word;
    while let Some(start) = rest.find('$') {
        let lacking = || format!("the shell's `{}`", &rest[start..]);
        let inside = rest[start..].strip_prefix("$((").and_then(|inside| inside.split_once("))"));
        // The number of the process that wrote a file is a part of that file's name only.
        if let Some(behind) = rest[start..].strip_prefix("${PPID}") {
            expanded.push_str(&rest[..start]);
            rest = behind;
            continue;
        }
        let (expression, behind) = inside.ok_or_else(lacking)?;
        expanded.push_str(&rest[..start]);
        expanded.push_str(&sum(expression).ok_or_else(lacking)?.to_string());
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// A sum of products of whole numbers.
fn sum(expression: &str) -> Option<u64> {
    let product = |term: &str| {
        let factors = term.split('*').map(|factor| factor.trim().parse::<u64>().ok());
        factors.into_iter().try_fold(1_u64, |product, factor| product.checked_mul(factor?))
    };
    expression.split('+').try_fold(0_u64, |sum, term| sum.checked_add(product(term)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, Lacking> {
        Ok(commands(text)?.iter().map(|words| words.join("|")).collect())
    }

    #[test]
    fn words_keep_quotes_together_and_leave_out_redirections_and_comments() {
        let found = read("a 'b c' > /dev/null 2>&1 # d\nx=\"1 $((2*3 + 4))\" 2>/dev/null \\\n y && z 1>>w");
        assert_eq!(found, Ok(["a|b c", "x=1 10|y", "z|>|w"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn what_would_take_a_shell_is_lacking() {
        for (text, wanted) in [
            ("echo $HOME", "the shell's `$HOME`"),
            ("echo $(id)", "the shell's `$(id)`"),
            ("echo $((a+1))", "the shell's `$((a+1))`"),
            ("echo $((99999999999*99999999999))", "the shell's `$((99999999999*99999999999))`"),
        ] {
            assert_eq!(read(text), Err(wanted.to_owned()));
        }
    }
}
