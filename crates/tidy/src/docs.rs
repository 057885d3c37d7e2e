//! What is public is documented, and no documentation is there for its own sake.
//!
//! Public types, functions and constants need documentation, and every file says what is in it. Fields and variants do not:
//! their names are full words and carry their units, and a comment on them says what the name cannot, or is left out. That
//! is why `missing_docs` of the compiler, which asks for both, is off.

use crate::{Source, Violation};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Visibility};

/// Documentation with at most this many words only repeats a name.
const WORDS_TOO_FEW: usize = 2;
/// What clap makes of a type: the documentation of its fields and variants is the help text.
const HELP_TEXTS: [&str; 4] = ["Args", "Parser", "Subcommand", "ValueEnum"];

/// Public items without documentation, and documentation of two words.
pub fn violations(source: &Source) -> Vec<Violation> {
    let in_library = source.path.components().any(|part| part.as_os_str() == "src");
    let private = source.syntax.items.iter().filter_map(private_type).collect();
    let mut items = Items { source, in_library, private, violations: Vec::new() };
    if in_library && doc(&source.syntax.attrs).is_none() {
        items.violation(Span::call_site(), "the file does not say what is in it (`//!`)".to_owned());
    }
    items.visit_file(&source.syntax);
    items.violations
}

struct Items<'a> {
    source: &'a Source,
    /// Tests, benchmarks and examples have no users.
    in_library: bool,
    /// Types of this file that are not public: neither are their methods.
    private: Vec<&'a syn::Ident>,
    violations: Vec<Violation>,
}

fn private_type(item: &syn::Item) -> Option<&syn::Ident> {
    let (visibility, name) = match item {
        syn::Item::Enum(item) => (&item.vis, &item.ident),
        syn::Item::Struct(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    (!matches!(visibility, Visibility::Public(_))).then_some(name)
}

impl Items<'_> {
    fn violation(&mut self, at: Span, message: String) {
        let (file, line) = (self.source.path.clone(), at.start().line);
        self.violations.push(Violation { file, line, message });
    }

    fn is_private(&self, of: &syn::Type) -> bool {
        let syn::Type::Path(path) = of else { return false };
        path.path.segments.last().is_some_and(|last| self.private.contains(&&last.ident))
    }

    fn item(&mut self, visibility: &Visibility, attributes: &[Attribute], name: &syn::Ident) {
        let is_public = matches!(visibility, Visibility::Public(_));
        if is_public && self.in_library && doc(attributes).is_none() {
            self.violation(name.span(), format!("`{name}` is public and has no documentation"));
        }
        self.not_too_short(attributes);
    }

    fn not_too_short(&mut self, attributes: &[Attribute]) {
        let Some((at, text)) = doc(attributes) else { return };
        // A reference says more than its words: `See [`LinkEnd::send`].`, `RFC 1071.`
        let refers = text.contains(|c: char| c == '`' || c.is_ascii_digit());
        if text.split_whitespace().count() <= WORDS_TOO_FEW && !refers {
            let message = format!("`{}` says no more than the name; say more, or leave it out", text.trim());
            self.violation(at, message);
        }
    }
}

/// Where the documentation of an item begins, and its text.
fn doc(attributes: &[Attribute]) -> Option<(Span, String)> {
    let mut found: Option<(Span, String)> = None;
    for attribute in attributes {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        if !pair.path.is_ident("doc") {
            continue;
        }
        let (_, text) = found.get_or_insert_with(|| (attribute.span(), String::new()));
        match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => text.push_str(&line.value()),
            // Made by a macro, or read from a file.
            _ => text.push_str("a text from elsewhere"),
        }
        text.push('\n');
    }
    found
}

/// Whether documentation inside a type is a help text.
fn is_help(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        let derives = list.tokens.to_string();
        (list.path.is_ident("derive") || list.path.is_ident("cfg_attr"))
            && derives.split(|c: char| !c.is_alphanumeric()).any(|word| HELP_TEXTS.contains(&word))
    })
}

/// Whether an item is compiled for tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

impl<'ast> Visit<'ast> for Items<'_> {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item(&mut self, item: &'ast syn::Item) {
        use syn::Item::{Const, Enum, Fn, Impl, Mod, Static, Struct, Trait, Type, Union};
        let (visibility, attributes, name) = match item {
            Const(item) => (&item.vis, &item.attrs, &item.ident),
            Enum(item) => (&item.vis, &item.attrs, &item.ident),
            Fn(item) => (&item.vis, &item.attrs, &item.sig.ident),
            Static(item) => (&item.vis, &item.attrs, &item.ident),
            Struct(item) => (&item.vis, &item.attrs, &item.ident),
            Trait(item) => (&item.vis, &item.attrs, &item.ident),
            Type(item) => (&item.vis, &item.attrs, &item.ident),
            Union(item) => (&item.vis, &item.attrs, &item.ident),
            // A file documents its module itself, tests are named by sentences, and nothing in a private module is public.
            Mod(module) if module.content.is_none() || is_test(&module.attrs) => return,
            Mod(module) if matches!(module.vis, Visibility::Inherited) => return,
            Mod(item) => (&item.vis, &item.attrs, &item.ident),
            // What a trait's methods do is said in the trait.
            Impl(block) if block.trait_.is_some() || self.is_private(&block.self_ty) => return,
            _ => return visit::visit_item(self, item),
        };
        self.item(visibility, attributes, name);
        if !is_help(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.item(&function.vis, &function.attrs, &function.sig.ident);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.not_too_short(&function.attrs);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.not_too_short(&field.attrs);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.not_too_short(&variant.attrs);
        visit::visit_variant(self, variant);
    }
}
