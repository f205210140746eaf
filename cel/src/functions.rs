//! The functions of every environment, by library.
//!
//! Standard functions and optional types are those of CEL (<https://github.com/google/cel-spec/blob/master/doc/langdef.md>), strings
//! those of cel-go's extension, and the others those of Kubernetes
//! (<https://kubernetes.io/docs/reference/using-api/cel/>) and of OCM.

pub(crate) mod formats;
mod json;
mod lists;
mod networks;
mod optionals;
pub(crate) mod quantities;
mod regexes;
mod standard;
mod strings;
mod times;
pub(crate) mod urls;
pub(crate) mod versions;

use super::failure::{Evaluated, charge};
use super::value::Value;

/// The result of a function, or its error in words.
pub(super) type Returned = Result<Value, String>;

/// A function that expressions can call.
#[derive(Debug)]
pub struct Function {
    /// With its namespace, if it has one: `optional.of`.
    pub(super) name: &'static str,
    /// It is called on its first argument: `a.size()`.
    pub(super) is_member: bool,
    /// The numbers of arguments, with the one that it is called on.
    pub(super) arguments: &'static [usize],
    pub(super) run: Run,
}

/// The implementation of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Run {
    /// Depends on its arguments only.
    Plain(fn(&[Value]) -> Returned),
    /// As [`Self::Plain`], and takes steps of the budget for what it does with the parts of its arguments.
    Priced(fn(&[Value], &mut u64) -> Evaluated),
    /// The caller of the evaluation carries it out.
    Host,
}

// === impl Function ===

impl Function {
    /// A function that the caller of an evaluation carries out ([`Host::call`](crate::Host::call)). `arguments` are the numbers of arguments
    /// that it takes, including the one that a member is called on.
    #[must_use]
    pub const fn of_host(name: &'static str, is_member: bool, arguments: &'static [usize]) -> Self {
        Self {
            name,
            is_member,
            arguments,
            run: Run::Host,
        }
    }

    pub(super) fn is_of_host(&self) -> bool {
        matches!(self.run, Run::Host)
    }
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

/// A function that is called on its first argument, and takes steps of the budget.
const fn priced(
    name: &'static str,
    arguments: &'static [usize],
    run: fn(&[Value], &mut u64) -> Evaluated,
) -> Function {
    Function {
        name,
        is_member: true,
        arguments,
        run: Run::Priced(run),
    }
}

/// Takes steps for arguments with all their parts, some of which a function reads.
fn charge_whole(args: &[Value], steps: &mut u64) -> Evaluated<()> {
    for it in args {
        let size = it.whole_size(*steps);
        charge(steps, size)?;
    }
    Ok(())
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
    json::FUNCTIONS,
];

/// Returns the overloads of a function with this number of arguments. They are told apart by the types of the arguments.
pub(super) fn find(
    of_host: &'static [Function],
    name: &str,
    is_member: bool,
    arguments: usize,
) -> Vec<&'static Function> {
    let all = LIBRARIES.into_iter().flatten().chain(of_host);
    all.filter(|it| {
        it.name == name && it.is_member == is_member && it.arguments.contains(&arguments)
    })
    .collect()
}

/// Returns whether any function has this name.
pub(super) fn is_known(of_host: &'static [Function], name: &str) -> bool {
    let mut all = LIBRARIES.into_iter().flatten().chain(of_host);
    all.any(|it| it.name == name)
}

/// The error of a function whose arguments have other types. Another overload may take them.
pub const NO_OVERLOAD: &str = "no such overload";

fn no_overload<T>() -> Result<T, String> {
    Err(NO_OVERLOAD.to_owned())
}

/// All functions, for the test that has a row for each.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Function> {
    LIBRARIES.into_iter().flatten()
}
