//! `berth can-i`: checks the permissions that the gate asks for, and prints the RBAC objects that grant them.
//!
//! It sends the same questions as the gate to the same authorizer. `kubectl auth can-i` cannot ask for the acceptance of a
//! cluster, since the API group of that permission is not in discovery.

mod grant;

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::{ManagedCluster, ManagedClusterSet, groups};
use berth_rules::display::{Flag, InNamespace, LastArgument, Lines, Quoted};
use berth_rules::{Permission, Requirement};
use clap_complete::engine::ArgValueCandidates;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use serde_json::json;

use crate::complete;
use crate::failure::CommandError;
use crate::flags::{DocumentArgs, DocumentFormat};
use crate::hub::{DryRun, HubArgs, HubConnection, namespace, namespaced};
use crate::print::plain;
use grant::Grant;

const EXAMPLES: &str = "\
Examples:
  # May I accept or deny this cluster?
  berth can-i accept cluster1

  # May another user add clusters to this set, or remove them?
  berth can-i join prod --as dev --as-group developers

  # May I write ManifestWorks with this executor for a cluster?
  berth can-i execute-as shop/deployer -n cluster1

  # Grant a permission to another user
  berth can-i bind prod --as dev -o yaml | kubectl apply -f -";

/// Check whether you may accept a cluster, join or bind a set, or set an executor
///
/// Checks the permission that the gate asks for, and prints yes or no, as 'kubectl auth can-i' does. The exit code is 0 for yes
/// and 1 for no. If the answer is no, it also prints the missing permission and RBAC objects that grant it. To move a cluster
/// from one set to another, a user needs the permission to join both sets.
///
/// With -o it prints only the RBAC objects that grant the permission, even if you already have it. The exit code is then 0.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("output", |arg| {
    arg.help("Print only the role and the binding that grant the permission")
}))]
pub struct Args {
    /// The action to check
    what: What,
    /// Name of the cluster or of the set; for execute-as the service account, as NAMESPACE/NAME
    #[arg(value_name = "NAME", required_unless_present = "all", add = ArgValueCandidates::new(complete::guarded))]
    name: Option<String>,
    /// Check the permission for all clusters, all sets or all service accounts. To widen the selector of a set, a user needs the
    /// permission to join all sets
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// For execute-as: the cluster of the ManifestWorks [default: all clusters, as for ManifestWorkReplicaSets]
    #[arg(
        short,
        long,
        visible_alias = "cluster",
        value_name = "CLUSTER",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    namespace: Option<String>,
    #[command(flatten)]
    output: DocumentArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// An action that the gate guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Accept or deny a cluster
    Accept,
    /// Add clusters to a set, or remove them
    Join,
    /// Bind a set to a namespace
    Bind,
    /// Let ManifestWorks write on clusters with the permissions of this service account (their executor)
    ExecuteAs,
}

/// The answer of the hub.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// The reasons for a denial.
    pub(crate) why: Vec<String>,
}

// === impl What ===

impl What {
    /// Returns the permission for the object of this name, or for all objects.
    ///
    /// # Errors
    /// The name is not that of a service account, or only [`Self::ExecuteAs`] has a namespace.
    fn permission(
        self,
        name: Option<&str>,
        namespace: Option<&str>,
    ) -> Result<Permission, CommandError> {
        if namespace.is_some() && self != Self::ExecuteAs {
            let message = "--namespace is for execute-as: clusters and sets have no namespace";
            return Err(CommandError::Config(message.to_owned()));
        }
        let of = name.unwrap_or_default();
        let mut permission = match self {
            Self::Accept => Permission::accept(of),
            Self::Join => Permission::join(of),
            Self::Bind => Permission::bind(of),
            Self::ExecuteAs if name.is_none() => Permission::execute_as(of),
            Self::ExecuteAs => Permission::execute_as(&identity(of)?),
        };
        if name.is_none() {
            permission.name = None;
        }
        permission.namespace = namespace.map(str::to_owned);
        Ok(permission)
    }

    /// The role of an installation (`manifests/people`) that contains the permission, for all objects.
    pub(crate) fn role(self) -> Option<&'static str> {
        match self {
            Self::Accept => Some("open-cluster-management:berth:accept"),
            Self::Join | Self::Bind => Some("open-cluster-management:berth:set-admin"),
            Self::ExecuteAs => None,
        }
    }

    /// What the permission is about.
    fn objects(self) -> &'static str {
        match self {
            Self::Accept => "clusters",
            Self::Join | Self::Bind => "sets",
            Self::ExecuteAs => "service accounts",
        }
    }

    /// Its name on the command line.
    fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Join => "join",
            Self::Bind => "bind",
            Self::ExecuteAs => "execute-as",
        }
    }
}

/// The user name of a service account that is given as NAMESPACE/NAME.
fn identity(account: &str) -> Result<String, CommandError> {
    let (namespace, name) = namespaced(account)
        .map_err(|why| CommandError::Config(format!("service account {account:?}: {why}")))?;
    Ok(format!("system:serviceaccount:{namespace}:{name}"))
}

/// Runs the command.
///
/// # Errors
/// Those of the hub.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let permission = (args.what).permission(args.name.as_deref(), args.namespace.as_deref())?;
    let hub = HubConnection::of(&args.hub).await?;
    let answer = ask(&hub, &permission).await?;
    if let Some(note) = missing_object(&hub, &permission).await {
        // An error of standard error does not stop the command.
        let _ = writeln!(io::stderr(), "Note: {}", Lines(&note));
    }
    let mut out = io::stdout().lock();
    if let Some(format) = args.output.format {
        let user = who(&hub, args).await?;
        let grant = Grant::new(&permission, &user);
        out.write_all(grant.written(format)?.as_bytes())?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if answer.allowed {
        writeln!(out, "yes")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "no")?;
    // The rest needs another request.
    out.flush()?;
    let user = who(&hub, args).await;
    let you = match &user {
        Ok(user) => format!("user {} lacks it", Quoted(user)),
        Err(_) => "you lack it".to_owned(),
    };
    writeln!(out, "{}: {you}", needed(&permission))?;
    for why in answer.why {
        writeln!(out, "The hub says: {}", plain(&why))?;
    }
    match user {
        Ok(user) => {
            if let Some(role) = args.what.role() {
                writeln!(
                    out,
                    "For all {}, an admin may bind the ClusterRole {role} instead",
                    args.what.objects()
                )?;
            }
            let command = command(
                args.what,
                args.name.as_deref(),
                args.namespace.as_deref(),
                &user,
            );
            writeln!(out, "To grant it, an admin runs: {command}")?;
            let grant = Grant::new(&permission, &user);
            out.write_all(grant.written(DocumentFormat::Yaml)?.as_bytes())?;
        }
        Err(failure) => writeln!(out, "Your user name cannot be determined: {failure}")?,
    }
    out.flush()?;
    Ok(ExitCode::FAILURE)
}

/// Asks for each verb, as the gate does, until one is allowed.
pub(crate) async fn ask(
    hub: &HubConnection,
    permission: &Permission,
) -> Result<Answer, CommandError> {
    let mut answer = Answer::default();
    for verb in permission.verbs {
        let attributes = json!({
            "group": permission.group,
            "resource": permission.resource,
            "subresource": permission.subresource,
            "name": permission.name,
            "namespace": permission.namespace,
            "verb": verb,
        });
        let status = hub.review_self(&attributes).await?;
        if status["allowed"] == true {
            answer.allowed = true;
            break;
        }
        for field in ["reason", "evaluationError"] {
            let said = status[field].as_str().unwrap_or_default().to_owned();
            if !said.is_empty() && !answer.why.contains(&said) {
                answer.why.push(said);
            }
        }
    }
    Ok(answer)
}

/// `verb "update" (or "create") on managedclusters/accept in API group ..., name "c1"`
pub(crate) fn needed(permission: &Permission) -> String {
    let Permission {
        verbs,
        group,
        name,
        namespace,
        ..
    } = permission;
    let mut verb = format!("verb {:?}", verbs[0]);
    for other in &verbs[1..] {
        verb.push_str(&format!(" (or {other:?})"));
    }
    let of = match name {
        Some(name) => format!("name {}", Quoted(name)),
        None => "for all names".to_owned(),
    };
    let resource = permission.whole_resource();
    let within = InNamespace(namespace.as_deref());
    format!("{verb} on {resource} in API group {group}, {of}{within}")
}

/// Returns the command that grants the permission.
pub(crate) fn command(
    what: What,
    name: Option<&str>,
    namespace: Option<&str>,
    user: &str,
) -> String {
    let what = what.as_str();
    let within = namespace.map_or_else(String::new, |it| format!("{} ", Flag("-n", it)));
    let user = format!("{within}{}", Flag("--as", user));
    let Some(name) = name else {
        return format!("berth can-i {what} --all {user} -o yaml | kubectl apply -f -");
    };
    let is_like_a_flag = name.starts_with('-');
    let name = LastArgument(name);
    if is_like_a_flag {
        format!("berth can-i {what} {user} -o yaml {name} | kubectl apply -f -")
    } else {
        format!("berth can-i {what} {name} {user} -o yaml | kubectl apply -f -")
    }
}

/// Returns a note if the object of the permission does not exist. A permission can be held nevertheless.
async fn missing_object(hub: &HubConnection, permission: &Permission) -> Option<String> {
    // Service accounts are on the clusters; of an executor, the cluster is looked for.
    let (name, resource) = match permission.requirement {
        Requirement::ExecuteAs => (permission.namespace.as_ref()?, groups::MANAGED_CLUSTERS),
        _ => (permission.name.as_ref()?, permission.resource),
    };
    let names = if resource == groups::MANAGED_CLUSTERS {
        let found = hub.get::<ManagedCluster>(None, name).await;
        if !is_not_there(&found) {
            return None;
        }
        hub.names::<ManagedCluster>(None).await
    } else {
        let found = hub.get::<ManagedClusterSet>(None, name).await;
        if !is_not_there(&found) {
            return None;
        }
        hub.names::<ManagedClusterSet>(None).await
    };
    let names = names.unwrap_or_default();
    let names = names.iter().map(String::as_str);
    let resource = format!("{resource}.{}", groups::CLUSTER);
    Some(CommandError::no_such(&resource, name, names).to_string())
}

fn is_not_there<K>(found: &Result<Option<K>, CommandError>) -> bool {
    matches!(found, Ok(None) | Err(CommandError::NoHub { .. }))
}

/// Returns the user that the hub authenticates.
async fn who(hub: &HubConnection, args: &Args) -> Result<String, CommandError> {
    if let Some((user, _)) = args.hub.acting_as() {
        return Ok(user.to_owned());
    }
    match user(hub).await? {
        Some((user, _)) => Ok(user),
        None => Err(CommandError::Refused(
            "the hub does not say who you are: name the user by --as".to_owned(),
        )),
    }
}

/// Returns the name and the groups of the user that the hub authenticates; `None` if the hub does not tell the name.
pub(crate) async fn user(
    hub: &HubConnection,
) -> Result<Option<(String, Vec<String>)>, CommandError> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
    });
    let answered = hub
        .create::<SelfSubjectReview>(None, &review, DryRun::None)
        .await?;
    let info = &answered["status"]["userInfo"];
    let groups = info["groups"].as_array().into_iter().flatten();
    let groups = groups.filter_map(|it| Some(it.as_str()?.to_owned()));
    let name = info["username"].as_str().filter(|name| !name.is_empty());
    Ok(name.map(|name| (name.to_owned(), groups.collect())))
}
