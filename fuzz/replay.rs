//! Replays a committed corpus with the body of its fuzz target; `fuzz_corpus` of each crate includes this file.

use std::fs;
use std::path::Path;

pub fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("readable").path();
        eprintln!("{}", path.display());
        body(&fs::read(path).expect("readable"));
        count += 1;
    }
    assert!(count > 0, "no corpus for {target}");
}
