//! Every way to damage a chain.

use super::*;

fn key(byte: u8) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32])
}

/// A file with so many lines, with its chain.
fn write(chain: &mut Chain, lines: std::ops::Range<usize>) -> Vec<String> {
    let mut written = Vec::new();
    for line in lines {
        let (text, place) = chain.link(&format!("{{\"text\":\"decision {line}\"}}"));
        chain.advance(place);
        written.push(format!("{text}\n"));
    }
    written
}

/// The first damaged line of files, from 1, or what was found.
fn verify(key: Option<hmac::Key>, files: &[&[String]]) -> Result<Verified, (usize, Damage)> {
    let mut verifier = Verifier::new(key);
    for file in files {
        verifier.handle_file();
        for (index, line) in file.iter().enumerate() {
            verifier.handle_line(line.as_bytes()).map_err(|damage| (index + 1, damage))?;
        }
    }
    Ok(verifier.finish())
}

#[test]
fn a_chain_is_intact_and_each_way_to_damage_it_is_named() {
    for key in [None, Some(key(1))] {
        let lines = write(&mut Chain::new(key.clone()), 0..10);
        let found = verify(key.clone(), &[&lines]).expect("intact");
        assert_eq!((found.lines, found.beginnings, found.begins_at), (10, 1, None));
        assert_eq!(found.last.map(|place| place.number), Some(10));
        let damaged = |change: &dyn Fn(&mut Vec<String>)| {
            let mut lines = lines.clone();
            change(&mut lines);
            verify(key.clone(), &[&lines]).expect_err("damaged")
        };
        assert_eq!(
            damaged(&|lines| lines[4] = lines[4].replace("decision", "Decision")),
            (5, Damage::Changed)
        );
        assert_eq!(damaged(&|lines| lines[9] = lines[9].replace("\"number\":10", "\"number\":11")).0, 10);
        assert_eq!(damaged(&|lines| _ = lines.remove(4)), (5, Damage::Removed { first: 5, last: 5 }));
        assert_eq!(damaged(&|lines| _ = lines.drain(2..5)), (3, Damage::Removed { first: 3, last: 5 }));
        assert_eq!(damaged(&|lines| lines.insert(4, "{\"text\":\"x\"}\n".into())), (5, Damage::Unsealed));
        assert_eq!(damaged(&|lines| lines.insert(4, "noise\n".into())), (5, Damage::Unsealed));
        assert_eq!(damaged(&|lines| lines.insert(4, lines[2].clone())), (5, Damage::Repeated { number: 3 }));
        assert_eq!(damaged(&|lines| lines.swap(3, 4)), (4, Damage::Removed { first: 4, last: 4 }));
        assert_eq!(damaged(&|lines| lines[9].truncate(40)), (10, Damage::Cut));
        assert_eq!(damaged(&|lines| _ = lines[9].pop()), (10, Damage::Cut));
        // Another beginning in the middle of a file hides what was cut before it.
        let other = write(&mut Chain::new(key.clone()), 0..3);
        assert_eq!(damaged(&|lines| lines.extend(other.clone())), (11, Damage::Repeated { number: 1 }));
    }
}

/// A line may have a valid seal of its own without a key: then the one after it does not continue it.
#[test]
fn a_line_that_is_sealed_anew_breaks_the_chain_after_it() {
    let mut chain = Chain::default();
    let mut lines = write(&mut chain, 0..4);
    let fifth = chain.clone();
    lines.extend(write(&mut chain, 4..8));
    lines[4] = format!("{}\n", fifth.link("{\"text\":\"another\"}").0);
    assert_eq!(verify(None, &[&lines]), Err((6, Damage::Replaced)));
}

#[test]
fn without_the_key_nobody_writes_another_chain() {
    let forged = write(&mut Chain::new(None), 0..3);
    assert_eq!(verify(Some(key(1)), &[&forged]), Err((1, Damage::WithoutKey)));
    let forged = write(&mut Chain::new(Some(key(2))), 0..3);
    assert_eq!(verify(Some(key(1)), &[&forged]), Err((1, Damage::Changed)));
    let sealed = write(&mut Chain::new(Some(key(1))), 0..3);
    assert_eq!(verify(None, &[&sealed]), Err((1, Damage::KeyNeeded)));
}

#[test]
fn files_continue_each_other_and_what_is_not_given_is_said() {
    let mut chain = Chain::default();
    let [one, two, three] = [0..5, 5..9, 9..12].map(|lines| write(&mut chain, lines));
    let found = verify(None, &[&one, &two, &three]).expect("intact");
    assert_eq!((found.lines, found.beginnings, found.begins_at), (12, 1, None));
    let found = verify(None, &[&two, &three]).expect("intact");
    assert_eq!((found.lines, found.beginnings, found.begins_at), (7, 0, Some(6)));
    assert_eq!(verify(None, &[&one, &three]), Err((1, Damage::Removed { first: 6, last: 9 })));
    assert_eq!(verify(None, &[&one, &two, &two]), Err((1, Damage::Repeated { number: 6 })));
    let other = write(&mut Chain::default(), 0..2);
    assert_eq!(verify(None, &[&one, &other]).expect("a new chain in a new file").beginnings, 2);
}

/// Lines of versions without a chain stay readable, and a chain begins after them.
#[test]
fn a_chain_begins_after_lines_without_one() {
    let mut lines = vec!["{\"text\":\"old\"}\n".to_owned(); 3];
    assert_eq!(verify(None, &[&lines]).map(|found| (found.lines, found.unsealed_lines)), Ok((0, 3)));
    lines.extend(write(&mut Chain::default(), 0..4));
    assert_eq!(verify(None, &[&lines]).map(|found| (found.lines, found.unsealed_lines)), Ok((4, 3)));
    lines.remove(3);
    assert_eq!(verify(None, &[&lines]), Err((4, Damage::Removed { first: 1, last: 1 })));
}

#[test]
fn a_chain_goes_on_from_what_its_last_line_says() {
    let mut chain = Chain::default();
    let mut lines = write(&mut chain, 0..3);
    let mut again = Chain::default();
    again.continue_after(place(lines[2].trim_end()).expect("it has a place"));
    lines.extend(write(&mut again, 3..5));
    assert_eq!(verify(None, &[&lines]).map(|found| found.lines), Ok(5));
    assert_eq!(place("{\"text\":\"old\"}"), None);
}
