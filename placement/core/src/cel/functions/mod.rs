//! The functions of OCM's CEL environment, by library.
//!
//! Standard functions and optional types are those of CEL (<https://github.com/google/cel-spec/blob/master/doc/langdef.md>), strings
//! those of cel-go's extension, and the others those of Kubernetes
//! (<https://kubernetes.io/docs/reference/using-api/cel/>) and of OCM.

pub(crate) mod formats;
mod lists;
mod networks;
mod ocm;
mod optionals;
pub(crate) mod quantities;
mod regexes;
mod standard;
mod strings;
mod times;
pub(crate) mod urls;
pub(crate) mod versions;

use super::value::Value;

/// The result of a function, or its error in words.
pub(super) type Returned = Result<Value, String>;

/// A function.
#[derive(Debug)]
pub(super) struct Function {
    /// With its namespace, if it has one: `optional.of`.
    pub(super) name: &'static str,
    /// It is called on its first argument: `a.size()`.
    pub(super) is_member: bool,
    /// The numbers of arguments, with the one that it is called on.
    pub(super) arguments: &'static [usize],
    pub(super) run: Run,
}

/// What a function does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Run {
    /// Depends on its arguments only.
    Plain(fn(&[Value]) -> Returned),
    /// Reads the scores of a cluster.
    Scores,
}

/// A function that is called with its arguments.
const fn global(
    name: &'static str,
    arguments: &'static [usize],
    run: fn(&[Value]) -> Returned,
) -> Function {
    Function {
        name,
        is_member: false,
        arguments,
        run: Run::Plain(run),
    }
}

/// A function that is called on its first argument.
const fn member(
    name: &'static str,
    arguments: &'static [usize],
    run: fn(&[Value]) -> Returned,
) -> Function {
    Function {
        name,
        is_member: true,
        arguments,
        run: Run::Plain(run),
    }
}

const LIBRARIES: [&[Function]; 12] = [
    standard::FUNCTIONS,
    times::FUNCTIONS,
    optionals::FUNCTIONS,
    strings::FUNCTIONS,
    lists::FUNCTIONS,
    regexes::FUNCTIONS,
    urls::FUNCTIONS,
    quantities::FUNCTIONS,
    networks::FUNCTIONS,
    formats::FUNCTIONS,
    versions::FUNCTIONS,
    ocm::FUNCTIONS,
];

/// Returns the overloads of a function with this number of arguments. They are told apart by the types of the arguments.
pub(super) fn find(name: &str, is_member: bool, arguments: usize) -> Vec<&'static Function> {
    let all = LIBRARIES.into_iter().flatten();
    all.filter(|it| {
        it.name == name && it.is_member == is_member && it.arguments.contains(&arguments)
    })
    .collect()
}

/// Returns whether any function has this name.
pub(super) fn is_known(name: &str) -> bool {
    LIBRARIES.into_iter().flatten().any(|it| it.name == name)
}

/// What a function says if its arguments have other types than it takes: another overload may take them.
pub(super) const NO_OVERLOAD: &str = "no such overload";

fn no_overload<T>() -> Result<T, String> {
    Err(NO_OVERLOAD.to_owned())
}

/// All functions, for the test that has a row for each.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Function> {
    LIBRARIES.into_iter().flatten()
}
