//! The modules of one crate: where each is, what it defines, and what it names of others.

use crate::Source;
use crate::docs::is_test;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// The names of a module and those around it, the outermost first; empty for the root of the crate.
pub(crate) type ModulePath = Vec<String>;

/// A name that a module brings in: `use a::b as c`.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    /// What it is called here; none for `use a::*`.
    pub(crate) name: Option<String>,
}

/// What one module defines and names.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    pub(crate) items: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// Paths of at least two names, in code, in arguments of macros, and in attributes.
    pub(crate) mentions: Vec<Vec<String>>,
}

/// The modules that a crate is compiled from, tests aside.
pub(crate) fn of_crate(sources: &[Source], root: &Path) -> BTreeMap<ModulePath, Module> {
    let by_path = sources.iter().map(|source| (source.path.as_path(), source)).collect();
    let mut reader = Reader { by_path, modules: BTreeMap::new() };
    reader.file(root, Vec::new());
    reader.modules
}

struct Reader<'a> {
    by_path: BTreeMap<&'a Path, &'a Source>,
    modules: BTreeMap<ModulePath, Module>,
}

impl Reader<'_> {
    fn file(&mut self, file: &Path, path: ModulePath) {
        let Some(source) = self.by_path.get(file).copied() else { return };
        self.items(file, path, &source.syntax.items);
    }

    fn items(&mut self, file: &Path, path: ModulePath, items: &[syn::Item]) {
        let mut names = Names::default();
        for item in items {
            match item {
                syn::Item::Mod(module) if is_test(&module.attrs) => (),
                syn::Item::Mod(module) => {
                    let mut below = path.clone();
                    below.push(module.ident.to_string());
                    match &module.content {
                        Some((_, items)) => self.items(file, below, items),
                        None => {
                            let place = place_of(file, &path, module);
                            place.iter().for_each(|place| self.file(place, below.clone()));
                        }
                    }
                }
                item => names.visit_item(item),
            }
        }
        let module = Module { file: file.to_owned(), ..names.module };
        self.modules.insert(path, module);
    }
}

/// The files that `mod name;` may stand for.
fn place_of(file: &Path, path: &ModulePath, module: &syn::ItemMod) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new(""));
    for attribute in &module.attrs {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("path")
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) = &pair.value
        {
            return vec![folder.join(name.value())];
        }
    }
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let own = matches!(stem, "lib" | "main" | "mod") || path.is_empty();
    let folder = if own { folder.to_owned() } else { folder.join(stem) };
    let name = module.ident.to_string();
    vec![folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")]
}

/// Collects what items define and name.
#[derive(Default)]
struct Names {
    module: Module,
    /// Functions within functions define nothing for the module.
    depth: usize,
}

impl Names {
    fn defines(&mut self, name: &syn::Ident) {
        if self.depth == 0 {
            self.module.items.insert(name.to_string());
        }
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(part) => self.import(&part.tree, &with(&part.ident)),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let import = Import { path: before.to_vec(), name: before.last().cloned() };
                self.module.imports.push(import);
            }
            syn::UseTree::Name(name) => {
                let import = Import { path: with(&name.ident), name: Some(name.ident.to_string()) };
                self.module.imports.push(import);
            }
            syn::UseTree::Rename(renamed) => {
                let path = if renamed.ident == "self" { before.to_vec() } else { with(&renamed.ident) };
                self.module.imports.push(Import { path, name: Some(renamed.rename.to_string()) });
            }
            syn::UseTree::Glob(_) => self.module.imports.push(Import { path: before.to_vec(), name: None }),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
        }
    }

    /// Paths in the arguments of a macro, which are no syntax before it is expanded.
    fn tokens(&mut self, tokens: &TokenStream) {
        let (mut path, mut colons): (Vec<String>, usize) = (Vec::new(), 0);
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(name) if path.is_empty() || colons == 2 => {
                    path.push(name.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && colons < 2 => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(name) => {
                    self.mention(std::mem::replace(&mut path, vec![name.to_string()]));
                    colons = 0;
                    continue;
                }
                TokenTree::Group(group) => self.tokens(&group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => (),
            }
            self.mention(std::mem::take(&mut path));
            colons = 0;
        }
        self.mention(path);
    }

    /// Paths in the strings of an attribute.
    fn strings(&mut self, tokens: &TokenStream) {
        for token in tokens.clone() {
            match token {
                TokenTree::Group(group) => self.strings(&group.stream()),
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal)
                        && let Ok(path) = text.parse::<syn::Path>()
                    {
                        self.visit_path(&path);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => (),
            }
        }
    }

    fn mention(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.module.mentions.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        use syn::Item::{Const, Enum, Fn, Macro, Static, Struct, Trait, Type, Union, Use};
        match item {
            Const(item) => self.defines(&item.ident),
            Enum(item) => self.defines(&item.ident),
            Fn(item) => self.defines(&item.sig.ident),
            Static(item) => self.defines(&item.ident),
            Struct(item) => self.defines(&item.ident),
            Trait(item) => self.defines(&item.ident),
            Type(item) => self.defines(&item.ident),
            Union(item) => self.defines(&item.ident),
            Macro(item) => item.ident.iter().for_each(|name| self.defines(name)),
            Use(item) => self.import(&item.tree, &[]),
            _ => (),
        }
        self.depth += 1;
        visit::visit_item(self, item);
        self.depth -= 1;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.mention(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, used: &'ast syn::Macro) {
        self.visit_path(&used.path);
        self.tokens(&used.tokens);
    }

    /// Reads `serde(try_from = "crate::form::Form")`, and whatever else an attribute's arguments name.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(&list.tokens);
            self.strings(&list.tokens);
        }
    }
}
