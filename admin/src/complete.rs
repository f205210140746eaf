//! Shell completion. The shell runs the program to get candidates, so names come from the hub.
//!
//! `berth completion bash` prints the script that makes a shell do so. For the kubectl plugin (`kubectl-berth`), kubectl runs
//! `kubectl_complete-berth`, which can be a link to this program.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use berth_api::addon::ManagedClusterAddOn;
use berth_api::work::{ManifestWork, ManifestWorkReplicaSet};
use berth_api::{ManagedCluster, ManagedClusterSet, Placement};
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::{CompleteEnv, Shells};
use k8s_openapi::api::core::v1::Namespace;
use kube::Resource;
use tokio::runtime::Builder;

use crate::hub::{HubArgs, HubConnection, Wait};

/// The variable that the script sets.
const VARIABLE: &str = "BERTH_COMPLETE";
/// The program that kubectl runs to complete `kubectl berth`.
const KUBECTL_COMPLETE: &str = "kubectl_complete-berth";
/// The name of the kubectl plugin.
pub const KUBECTL_PLUGIN: &str = "kubectl-berth";
/// Timeout of the requests for names.
const PATIENCE: Duration = Duration::from_secs(2);
/// A directive of cobra, for kubectl: do not complete file names instead.
const NO_FILES: &str = ":4";

/// Prints completions, if a shell or kubectl asks for them. Returns false if the program was started to run a command.
///
/// # Errors
/// The shell is unknown, or the output cannot be written.
pub fn answer(command: fn() -> clap::Command) -> anyhow::Result<bool> {
    if called_as() == Some(KUBECTL_COMPLETE) {
        let args: Vec<OsString> = std::iter::once("berth".into())
            .chain(env::args_os().skip(1))
            .collect();
        let last = args.len() - 1;
        let mut out = io::stdout().lock();
        for candidate in complete(&mut command(), args, last, None)? {
            writeln!(out, "{}", candidate.get_value().to_string_lossy())?;
        }
        writeln!(out, "{NO_FILES}")?;
        return Ok(true);
    }
    let here = env::current_dir().ok();
    Ok(CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .try_complete(env::args_os(), here.as_deref())?)
}

/// Prints the completion script of a shell.
///
/// # Errors
/// The shell is unknown, or the output cannot be written.
pub fn script(shell: &str) -> anyhow::Result<()> {
    let shells = Shells::builtins();
    let completer = shells
        .completer(shell)
        .ok_or_else(|| anyhow::anyhow!("no completion for the shell {shell:?}"))?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "berth", "berth", "berth", &mut script)?;
    io::stdout().write_all(&script)?;
    Ok(())
}

/// Returns the name that this program was started with, if it is one of the kubectl plugin's.
pub fn called_as() -> Option<&'static str> {
    let first = env::args_os().next()?;
    let name = Path::new(&first).file_stem()?.to_str()?;
    [KUBECTL_COMPLETE, KUBECTL_PLUGIN]
        .into_iter()
        .find(|known| *known == name)
}

/// Names of ManagedClusters.
pub(crate) fn clusters() -> Vec<CompletionCandidate> {
    names::<ManagedCluster>()
}

/// Names of ManagedClusterSets.
pub(crate) fn sets() -> Vec<CompletionCandidate> {
    names::<ManagedClusterSet>()
}

/// Names of Placements, of the namespace of the typed `-n`, or else of all.
pub(crate) fn placements() -> Vec<CompletionCandidate> {
    names_in::<Placement>(typed_namespace().as_deref())
}

/// Names of ManifestWorks, of the cluster of the typed `-n`, or else of all.
pub(crate) fn works() -> Vec<CompletionCandidate> {
    names_in::<ManifestWork>(typed_namespace().as_deref())
}

/// Names of ManifestWorks that the managed cluster of the typed flags has applied.
pub(crate) fn applied_works() -> Vec<CompletionCandidate> {
    asked(async |cluster| {
        let works = crate::work::applied::applied_works(&cluster).await.ok()?;
        Some(works.into_iter().map(|it| it.work).collect())
    })
}

/// Names of ManifestWorkReplicaSets, of the namespace of the typed `-n`, or else of all.
pub(crate) fn replica_sets() -> Vec<CompletionCandidate> {
    names_in::<ManifestWorkReplicaSet>(typed_namespace().as_deref())
}

/// Names of add-ons, of the namespace of the typed `-n`, or else of all.
pub(crate) fn addons() -> Vec<CompletionCandidate> {
    names_in::<ManagedClusterAddOn>(typed_namespace().as_deref())
}

/// Names of ManifestWorks and ManifestWorkReplicaSets.
pub(crate) fn works_and_replica_sets() -> Vec<CompletionCandidate> {
    let mut both: Vec<_> = works().into_iter().chain(replica_sets()).collect();
    both.sort();
    both.dedup();
    both
}

/// Names for `berth can-i`: clusters after `accept`, sets after `join` and `bind`. The service accounts of executors are on the clusters.
pub(crate) fn guarded() -> Vec<CompletionCandidate> {
    let words = || env::args_os().skip_while(|word| word != "can-i");
    let has = |what: &str| words().any(|word| word == what);
    if has("accept") {
        clusters()
    } else if has("execute-as") {
        Vec::new()
    } else {
        sets()
    }
}

/// Names of namespaces.
pub(crate) fn namespaces() -> Vec<CompletionCandidate> {
    names::<Namespace>()
}

/// Names of the contexts in the kubeconfig.
pub(crate) fn contexts() -> Vec<CompletionCandidate> {
    candidates(berth_hub::contexts(&typed(env::args_os()).access()))
}

/// Returns names from the hub that the typed flags name, or no names after an error.
fn names<K: Resource<DynamicType = ()>>() -> Vec<CompletionCandidate> {
    names_in::<K>(None)
}

fn names_in<K: Resource<DynamicType = ()>>(namespace: Option<&str>) -> Vec<CompletionCandidate> {
    asked(async |hub| hub.names::<K>(namespace).await.ok())
}

/// Returns the names that `read` gets from the API server of the typed flags, or no names after an error.
fn asked(read: impl AsyncFnOnce(HubConnection) -> Option<Vec<String>>) -> Vec<CompletionCandidate> {
    let args = typed(env::args_os());
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let ask = async {
        let hub = HubConnection::of(&args).await.ok()?;
        read(hub).await
    };
    // The timeout is created in the runtime, since it needs the timer of the runtime.
    let names = runtime.block_on(async { tokio::time::timeout(PATIENCE, ask).await });
    candidates(names.ok().flatten().unwrap_or_default())
}

/// Each name once: objects in several namespaces may have the same.
fn candidates(names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let names: BTreeSet<String> = names.into_iter().collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// The namespace in an unfinished command line.
fn typed_namespace() -> Option<String> {
    let flags = ["-n", "--namespace", "--cluster"];
    let given = flags.map(|flag| value_of(env::args_os(), flag));
    given.into_iter().flatten().next_back()
}

/// Returns the flags of the hub in an unfinished command line.
fn typed(words: impl Iterator<Item = OsString>) -> HubArgs {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let all = |flag: &str| values_of(&words, flag);
    HubArgs::new(
        all("--kubeconfig").pop().map(Into::into),
        all("--context").pop(),
        all("--as").pop(),
        all("--as-group"),
        Wait(PATIENCE),
    )
}

/// Returns the last value of a flag in an unfinished command line.
fn value_of(words: impl Iterator<Item = OsString>, flag: &str) -> Option<String> {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    values_of(&words, flag).pop()
}

fn values_of(words: &[String], flag: &str) -> Vec<String> {
    let values = words.iter().enumerate().filter_map(|(at, word)| {
        match word.strip_prefix(flag)?.strip_prefix('=') {
            Some(value) => Some(value.to_owned()),
            None if word == flag => words.get(at + 1).cloned(),
            None => None,
        }
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_the_one_that_was_typed() {
        let line = "berth -- berth get --context=a clusters --as me --as-group x --as-group=y --kubeconfig";
        let args = typed(line.split(' ').map(OsString::from));
        assert_eq!(
            format!("{args:?}"),
            format!(
                "{:?}",
                HubArgs::new(
                    None,
                    Some("a".into()),
                    Some("me".into()),
                    vec!["x".into(), "y".into()],
                    Wait(PATIENCE)
                )
            )
        );
    }
}
