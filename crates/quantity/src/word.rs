//! Choices that people write as words.

/// A choice that people write as a word. [`words!`](crate::words!) declares such types.
pub trait Word: Copy + Send + Sync + 'static {
    /// All choices, in the order of their declaration.
    fn all() -> &'static [Self];

    /// The word for it.
    fn word(self) -> &'static str;

    /// The choice with this word.
    fn named(text: &str) -> Option<Self> {
        Self::all().iter().copied().find(|choice| choice.word() == text)
    }
}

/// Declares choices with the words for them, which files, command lines and reports share.
///
/// ```
/// linkmend_quantity::words! {
///     /// How a switch chooses among equal paths.
///     #[derive(Default)]
///     pub enum Balance {
///         /// By flow.
///         #[default]
///         FlowHash = "flow-hash",
///         /// By frame.
///         Spray = "spray",
///     }
/// }
///
/// assert_eq!(Balance::ALL.map(Balance::name), ["flow-hash", "spray"]);
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $variant,)+
        }

        impl $name {
            /// All of them, in the order of help texts.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// Its name in files and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl $crate::Word for $name {
            fn all() -> &'static [$name] {
                &$name::ALL
            }

            fn word(self) -> &'static str {
                self.name()
            }
        }
    };
}
