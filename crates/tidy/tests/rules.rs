//! Each rule, held against a piece of code that breaks it and one that does not.

use linkmend_tidy::{Source, Violation, arrows, circles, docs, length, manifests};
use std::collections::BTreeMap;
use std::path::Path;

fn messages(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(|violation| format!("{}: {}", violation.line, violation.message)).collect()
}

fn function_of(lines: usize) -> String {
    let body: String = (0..lines - 2).map(|line| format!("    let _ = {line};\n")).collect();
    format!("//! A file.\n\nfn long() {{\n{body}}}\n")
}

#[test]
fn a_function_of_seventy_lines_is_too_long_wherever_it_stands() {
    let at_the_limit = Source::parse("src/a.rs", &function_of(69));
    assert_eq!(length::violations(&at_the_limit), []);
    let found = length::violations(&Source::parse("src/a.rs", &function_of(70)));
    assert_eq!(messages(&found), ["3: `long` has 70 lines; split it, the limit is below 70"]);
    let inside = format!("struct A;\nimpl A {{\n{}\n}}\nmod b {{\n{}\n}}", function_of(80), function_of(90));
    let inside = inside.replace("//! A file.\n", "");
    assert_eq!(length::violations(&Source::parse("tests/a.rs", &inside)).len(), 2);
}

#[test]
fn a_file_of_five_hundred_lines_is_too_long() {
    let file = |lines: usize| Source::parse("src/a.rs", &"//! Words.\n".repeat(lines));
    assert_eq!(length::violations(&file(499)), []);
    let found = length::violations(&file(500));
    assert_eq!(messages(&found), ["1: the file has 500 lines; split it, the limit is below 500"]);
}

fn of_docs(path: &str, text: &str) -> Vec<String> {
    messages(&docs::violations(&Source::parse(path, text)))
}

#[test]
fn documentation_of_two_words_is_refused_on_items_fields_and_variants() {
    let text = "//! A file.\n/// A type with fields.\npub struct A {\n    /// The link.\n    pub link: u8,\n    pub rate: u8,\n}\n\
                /// A type with variants.\npub enum B {\n    /// Never.\n    No,\n    /// Since the last start.\n    Yes,\n}\n";
    let wanted = [
        "4: `The link.` says no more than the name; say more, or leave it out",
        "10: `Never.` says no more than the name; say more, or leave it out",
    ];
    assert_eq!(of_docs("src/a.rs", text), wanted);
}

#[test]
fn the_help_texts_of_arguments_may_be_short() {
    let text = "//! A file.\n/// The arguments of a command.\n#[derive(Debug, clap::Args)]\npub struct A {\n    /// Quiet\n    \
                quiet: bool,\n}\n";
    assert!(of_docs("src/a.rs", text).is_empty());
}

#[test]
fn public_items_need_documentation_and_others_do_not() {
    let text = "//! A file.\npub fn a() {}\nfn b() {}\n/// A type for others.\npub struct C;\nimpl C {\n    pub fn d() {}\n}\n\
                struct P;\nimpl P {\n    pub fn p() {}\n}\nmod hidden {\n    pub fn h() {}\n}\n\
                impl Clone for C {\n    fn clone(&self) -> C { C }\n}\n#[cfg(test)]\nmod tests {\n    pub fn e() {}\n}\n";
    let wanted = ["2: `a` is public and has no documentation", "7: `d` is public and has no documentation"];
    assert_eq!(of_docs("src/a.rs", text), wanted);
    assert!(of_docs("tests/a.rs", text).is_empty(), "tests have no users");
    assert_eq!(of_docs("src/a.rs", "fn b() {}"), ["1: the file does not say what is in it (`//!`)"]);
}

const DOCUMENT: &str = "| `crates/top` | uses all |\n| `crates/left` | a library |\n| `crates/right` | another |\n\
                        | `crates/low` | below both |\n\n    top -> {left, right} -> {low}\n\n\
                        `left` and `right` never import each other.\n";

fn arrows_of(uses: &[(&str, &[&str])]) -> Vec<String> {
    let arrows = uses
        .iter()
        .map(|(user, used)| ((*user).to_owned(), used.iter().map(|used| (*used).to_owned()).collect()));
    messages(&arrows::violations(&arrows.collect::<BTreeMap<_, _>>(), DOCUMENT))
}

#[test]
fn an_arrow_that_is_not_drawn_is_found_and_so_is_a_crate_that_is_not_there() {
    let good: [(&str, &[&str]); 4] =
        [("top", &["left", "right", "low"]), ("left", &["low"]), ("right", &["low"]), ("low", &[])];
    assert!(arrows_of(&good).is_empty());
    let mut upwards = good;
    upwards[3].1 = &["left"];
    assert_eq!(arrows_of(&upwards), ["6: low uses left, which is not to its right"]);
    let mut across = good;
    across[1].1 = &["low", "right"];
    let wanted = [
        "6: left uses right, which is not to its right",
        "6: left uses right, and the text says that it never does",
    ];
    assert_eq!(arrows_of(&across), wanted);
    let wanted = ["6: there is no crate low", "4: there is no crate low"];
    assert_eq!(arrows_of(&[("top", &[]), ("left", &[]), ("right", &[])]), wanted);
    let new: [(&str, &[&str]); 5] = [good[0], good[1], good[2], good[3], ("new", &["low"])];
    let wanted = ["6: the table has no row for crates/new", "6: new uses low, and one of them is not drawn"];
    assert_eq!(arrows_of(&new), wanted);
    let example: [(&str, &[&str]); 5] = [good[0], good[1], good[2], good[3], ("example-new", &[])];
    assert_eq!(arrows_of(&example), ["6: the table has no row for examples/new"]);
}

fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let sources: Vec<Source> = files.iter().map(|(path, text)| Source::parse(*path, text)).collect();
    let found = circles::violations(&sources, Path::new("src/lib.rs"));
    found.into_iter().map(|violation| violation.message).collect()
}

#[test]
fn modules_that_use_each_other_are_found_through_names_that_are_passed_on() {
    let lib = ("src/lib.rs", "mod a;\nmod b;\npub use b::deep::B;");
    let b = ("src/b/mod.rs", "pub mod deep;");
    let deep = ("src/b/deep.rs", "pub struct B;\nfn f() { let _ = format!(\"{}\", crate::a::A); }");
    let found = circles_of(&[lib, ("src/a.rs", "use crate::B;\npub struct A;"), b, deep]);
    let wanted = "files use each other in a circle:\n    src/a.rs uses `crate::B` of src/b/deep.rs\n    \
                  src/b/deep.rs uses `crate::a::A` of src/a.rs";
    assert_eq!(found, [wanted]);
    assert!(circles_of(&[lib, ("src/a.rs", "pub struct A;"), b, deep]).is_empty());
}

#[test]
fn a_circle_that_goes_from_a_part_to_its_whole_is_found() {
    let lib = ("src/lib.rs", "mod config;\nmod receiver;\nmod session;\npub use session::Number;");
    let config = ("src/config.rs", "use crate::receiver::ahead;\npub struct Config;");
    let receiver = (
        "src/receiver.rs",
        "mod doubt;\npub(crate) use doubt::ahead;\nuse crate::Number;\npub struct Receiver;",
    );
    let doubt = ("src/receiver/doubt.rs", "use super::Receiver;\npub fn ahead() {}");
    let session = ("src/session.rs", "use crate::config::Config;\npub struct Number;");
    let wanted = "files use each other in a circle:\n    \
                  src/config.rs uses `crate::receiver::ahead` of src/receiver/doubt.rs\n    \
                  src/receiver.rs uses `crate::Number` of src/session.rs\n    \
                  src/session.rs uses `crate::config::Config` of src/config.rs";
    assert_eq!(circles_of(&[lib, config, receiver, doubt, session]), [wanted]);
    let config = ("src/config.rs", "pub struct Config;");
    assert!(circles_of(&[lib, config, receiver, doubt, session]).is_empty());
}

#[test]
fn names_are_followed_through_the_root_whether_renamed_or_by_a_star() {
    let a = ("src/a.rs", "use crate::B as Other;\npub struct A;\nfn f(_: Other) {}");
    let b = ("src/b.rs", "use crate::Renamed;\npub struct B(Renamed);");
    let lib = ("src/lib.rs", "mod a;\nmod b;\npub use b::*;\npub use a::A as Renamed;");
    let wanted = "files use each other in a circle:\n    src/a.rs uses `crate::B` of src/b.rs\n    \
                  src/b.rs uses `crate::Renamed` of src/a.rs";
    assert_eq!(circles_of(&[lib, a, b]), [wanted]);
}

#[test]
fn a_module_that_is_named_in_an_attribute_is_used() {
    let lib = ("src/lib.rs", "mod form;\nmod frame;");
    let form = ("src/form.rs", "use crate::frame::Frame;\npub struct Form(Frame);");
    let named = |into: &str| {
        format!(
            "#[cfg_attr(feature = \"serde\", serde(from = \"{into}\"))]\n/// See `crate::form::Form`.\npub struct Frame;"
        )
    };
    assert!(circles_of(&[lib, form, ("src/frame.rs", &named("u8"))]).is_empty());
    let wanted = "files use each other in a circle:\n    src/form.rs uses `crate::frame::Frame` of src/frame.rs\n    \
                  src/frame.rs uses `crate::form::Form` of src/form.rs";
    assert_eq!(circles_of(&[lib, form, ("src/frame.rs", &named("crate::form::Form"))]), [wanted]);
}

#[test]
fn modules_that_are_written_in_one_file_may_use_each_other() {
    let lib = (
        "src/lib.rs",
        "mod a { pub struct A(crate::b::B); }\nmod b { pub struct B;\npub fn f(_: crate::a::A) {} }",
    );
    assert!(circles_of(&[lib]).is_empty());
}

#[test]
fn a_part_may_look_at_its_whole_and_tests_at_everything() {
    let lib = ("src/lib.rs", "mod a;\npub struct Whole;");
    let a = ("src/a.rs", "mod part;\nuse part::Part;\npub struct A(Part);");
    let part = ("src/a/part.rs", "use super::A;\nuse crate::Whole;\npub struct Part(A, Whole);");
    assert!(circles_of(&[lib, a, part]).is_empty());
    let tested = ("src/lib.rs", "mod a;\nmod b;");
    let a = ("src/a.rs", "use crate::b::B;\npub struct A;");
    let b = ("src/b.rs", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}");
    assert!(circles_of(&[tested, a, b]).is_empty());
}

#[test]
fn a_crate_outside_the_lints_and_a_clippy_configuration_of_its_own_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    write("crates/good/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n");
    write("crates/free/Cargo.toml", "[package]\n");
    write("crates/free/clippy.toml", "");
    write("crates/daemon/Cargo.toml", "[package]\n[lints]\nworkspace = true\n");
    write("crates/daemon/clippy.toml", "");
    write("examples/new/Cargo.toml", "[package]\n");
    let found = manifests::violations(folder.path(), &["daemon"]);
    let files: Vec<_> = found.iter().map(|violation| violation.file.to_string_lossy()).collect();
    assert_eq!(files, ["crates/free/Cargo.toml", "crates/free/clippy.toml", "examples/new/Cargo.toml"]);
}

#[test]
fn a_library_that_cannot_be_used_without_clap_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, clap) in [
        ("linkmend", "clap.workspace = true"),
        ("parsing", "clap.workspace = true"),
        ("pinned", "clap = \"4\""),
        ("featured", "clap = { workspace = true, optional = true }\n[features]\nclap = [\"dep:clap\"]"),
    ] {
        let folder = folder.path().join("crates").join(name);
        std::fs::create_dir_all(&folder).expect("made");
        let manifest = format!("[dependencies]\n{clap}\n[lints]\nworkspace = true\n");
        std::fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    }
    let found = manifests::violations(folder.path(), &[]);
    let files: Vec<_> = found.iter().map(|violation| violation.file.to_string_lossy()).collect();
    assert_eq!(files, ["crates/parsing/Cargo.toml", "crates/pinned/Cargo.toml"]);
}
