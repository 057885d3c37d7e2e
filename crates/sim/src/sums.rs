//! Sums of counts, field by field.

/// Adds these fields of the second to those of the first.
macro_rules! add_fields {
    ($sum:expr, $more:expr; $($field:ident),+) => { $($sum.$field += $more.$field;)+ };
}
pub(crate) use add_fields;
