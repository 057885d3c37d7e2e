//! Files and functions stay short enough to be read at once.

use crate::{Source, Violation};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A file has fewer lines.
pub const FILE_LINES_LIMIT: usize = 500;
/// A function has fewer lines, from its signature to its closing brace.
pub const FUNCTION_LINES_LIMIT: usize = 70;

/// Files and functions that are too long.
pub fn violations(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().count();
    let mut functions = Functions { source, violations: Vec::new() };
    if lines >= FILE_LINES_LIMIT {
        functions.violations.push(Violation {
            file: source.path.clone(),
            line: 1,
            message: format!("the file has {lines} lines; split it, the limit is below {FILE_LINES_LIMIT}"),
        });
    }
    functions.visit_file(&source.syntax);
    functions.violations
}

struct Functions<'a> {
    source: &'a Source,
    violations: Vec<Violation>,
}

impl Functions<'_> {
    fn check(&mut self, signature: &syn::Signature, body: Span) {
        let (first, last) = (signature.span().start().line, body.end().line);
        let lines = last + 1 - first;
        if lines >= FUNCTION_LINES_LIMIT {
            self.violations.push(Violation {
                file: self.source.path.clone(),
                line: first,
                message: format!(
                    "`{}` has {lines} lines; split it, the limit is below {FUNCTION_LINES_LIMIT}",
                    signature.ident
                ),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.check(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.check(&function.sig, body.span());
        }
        visit::visit_trait_item_fn(self, function);
    }
}
