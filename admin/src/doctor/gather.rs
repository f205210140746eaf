//! Reads the facts for the checks, concurrently.
//!
//! Each read has a timeout. A missing permission is a fact as well.

mod accounts;
mod addons;
mod operator;
mod policies;
mod registered;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::csrs::{self, Decision};
use berth_lifecycle_core::facts::{CertificateRequest, Standing};
use berth_lifecycle_core::names;
use futures::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::checks::hub::silence;
use super::checks::{crds, writes};
use super::facts::{Election, Fact, Facts, Pending, Unread};
use super::installation;
use super::objects::Lease;
use super::rights::needed;
use crate::failure::CommandError;
use crate::hub::{Answered, Filter, HubConnection, Item, Tried};
use accounts::ask_all;

/// The holder of the Lease renews it within this time, with the default flags.
const RENEWAL: Duration = Duration::from_secs(4);
/// Upper bound on the renewals whose senders' rights are checked.
const MOST_RENEWALS: usize = 50;

/// Reads the facts. Without `tries`, no write is sent, also not as a dry run.
///
/// # Errors
/// The hub does not answer, does not know the user, or lets the user read nothing; or the API server is not a hub.
pub(super) async fn gather(
    hub: &HubConnection,
    namespace: &str,
    tries: bool,
) -> Result<Facts, CommandError> {
    // If the hub does not answer, nothing else is read.
    let answered = hub.answers().await?;
    let everything = futures::join!(
        definitions(hub),
        registered::registrations(hub, namespace),
        policies::policies(hub),
        tried(hub, tries),
        accounts::deployments(hub, namespace),
        election(hub, namespace, installation::LOCK, answered),
        election(hub, namespace, installation::PLACEMENT_LOCK, answered),
        election(hub, namespace, installation::WORK_LOCK, answered),
        election(hub, namespace, installation::ADDON_LOCK, answered),
        list::<ManagedCluster>(hub, CLUSTERS),
        list::<ManagedClusterSet>(hub, SETS),
        list::<ManagedClusterSetBinding>(hub, BINDINGS),
        requests(hub),
        agent_roles(hub),
        addons::troubled(hub),
        operator::operated(hub),
    );
    let (
        crds,
        mut registrations,
        policies,
        tried,
        accounts,
        election,
        placement_election,
        work_election,
        addon_election,
        clusters,
        sets,
        bindings,
        requests,
        agent_roles,
        addons,
        operated,
    ) = everything;
    registered::of_conversions(hub, &crds, namespace, &mut registrations).await;
    let facts = Facts {
        namespace: namespace.to_owned(),
        answered,
        crds,
        mutating: registrations.mutating,
        validating: registrations.validating,
        policies,
        called: registrations.called,
        served: registrations.served,
        tries,
        tried,
        deployments: accounts.deployments,
        gate_rights: accounts.gate,
        controller_rights: accounts.controller,
        agent_roles,
        election,
        placement_election,
        work_election,
        addon_election,
        clusters,
        sets,
        bindings,
        requests,
        addons,
        operated,
    };
    if facts.crds.values().all(|crd| *crd == Ok(None)) {
        return Err(CommandError::NoHub {
            resource: "managedclusters, managedclustersets nor managedclustersetbindings"
                .to_owned(),
            api: berth_api::groups::CLUSTER.to_owned(),
        });
    }
    match nothing_read(&facts) {
        None => Ok(facts),
        Some(Unread::Needs(_)) => Err(CommandError::Config(format!(
            "you have none of the permissions that the checks need on the hub at {}; an admin can bind the roles open-cluster-management:berth:doctor to you, see docs/doctor.md",
            hub.server()
        ))),
        Some(Unread::Why(why)) => Err(CommandError::Config(format!(
            "nothing of the hub at {} could be read: {why}",
            hub.server()
        ))),
    }
}

/// Returns the reason, if nothing at all could be read.
fn nothing_read(facts: &Facts) -> Option<Unread> {
    let crds = facts.crds.values().map(|crd| crd.as_ref().err());
    let lists = [
        facts.mutating.as_ref().err(),
        facts.validating.as_ref().err(),
        facts.deployments.as_ref().err(),
        facts.clusters.as_ref().err(),
        facts.sets.as_ref().err(),
        facts.bindings.as_ref().err(),
    ];
    let all: Option<Vec<&Unread>> = crds.chain(lists).collect();
    let all = all?;
    // Another error says more than a missing permission.
    let why = all.iter().find(|unread| matches!(unread, Unread::Why(_)));
    why.or(all.first()).map(|unread| (*unread).clone())
}

/// A resource and its group, for the name of a permission.
type Named = (&'static str, &'static str);

const CLUSTERS: Named = ("managedclusters", berth_api::groups::CLUSTER);
const SETS: Named = ("managedclustersets", berth_api::groups::CLUSTER);
const BINDINGS: Named = ("managedclustersetbindings", berth_api::groups::CLUSTER);
const LEASES: Named = ("leases", "coordination.k8s.io");

/// Converts the result of a read to a fact.
async fn read<T>(
    verb: &str,
    (resource, group): Named,
    namespace: Option<&str>,
    reading: impl Future<Output = Result<T, CommandError>>,
) -> Fact<T> {
    reading.await.map_err(|failure| match failure {
        CommandError::Api(status) if status.code == 403 => {
            Unread::Needs(needed(verb, resource, group, namespace))
        }
        CommandError::NoHub { resource, api } => {
            Unread::Why(format!("the API server has no {resource} in {api}"))
        }
        failure => Unread::Why(failure.to_string()),
    })
}

async fn get<K>(
    hub: &HubConnection,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<K>, CommandError>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Default,
{
    let item = hub.get::<K>(namespace, name).await?;
    Ok(item.map(|item| item.object))
}

async fn list<K>(hub: &HubConnection, named: Named) -> Fact<Vec<Item<K>>>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Default,
{
    read("list", named, None, hub.list::<K>(None, &Filter::default())).await
}

async fn definitions(hub: &HubConnection) -> BTreeMap<String, Fact<Option<Value>>> {
    let named = ("customresourcedefinitions", "apiextensions.k8s.io");
    let each = crds::expected().into_iter().map(|crd| async move {
        let name = crds::name(&crd);
        let reading = hub.get_value::<CustomResourceDefinition>(None, &name);
        let found = read("get", named, None, reading).await;
        (name, found)
    });
    join_all(each).await.into_iter().collect()
}

async fn agent_roles(hub: &HubConnection) -> [Fact<Option<Value>>; 2] {
    let named = ("clusterroles", "rbac.authorization.k8s.io");
    let one = async |name: &str| {
        let reading = hub.get_value::<ClusterRole>(None, name);
        read("get", named, None, reading).await
    };
    futures::join!(one(names::REGISTRATION_ROLE), one(names::WORK_ROLE)).into()
}

/// Reads the Lease of an election. If it seems expired, reads it again, to see whether it is renewed.
async fn election(
    hub: &HubConnection,
    namespace: &str,
    name: &str,
    answered: Answered,
) -> Election {
    let within = Some(namespace);
    let look = || {
        let getting = get::<Lease>(hub, within, name);
        read("get", LEASES, within, getting)
    };
    let first = look().await;
    let now = answered.its_time.unwrap_or(answered.ours.1);
    let is_silent = |lease: &Lease| silence(&lease.spec, now).is_some();
    if !matches!(&first, Ok(Some(lease)) if is_silent(lease)) {
        return Election {
            lease: first,
            is_renewed: false,
        };
    }
    tokio::time::sleep(RENEWAL).await;
    let second = look().await;
    let version = |lease: &Fact<Option<Lease>>| {
        let lease = lease.as_ref().ok()?.as_ref()?;
        lease.metadata.resource_version.clone()
    };
    Election {
        is_renewed: second.is_ok() && version(&first) != version(&second),
        lease: second,
    }
}

async fn tried(hub: &HubConnection, tries: bool) -> HashMap<&'static str, Fact<Tried>> {
    if !tries {
        return HashMap::new();
    }
    let unique = format!("{:x}", Timestamp::now().as_nanosecond());
    let unique = unique.as_str();
    let each = writes::tried().map(|(webhook, probe)| async move {
        let object = writes::object(webhook, probe, unique);
        let named = (webhook.resource, webhook.group);
        let trying = hub.try_to_create(named, webhook.version, probe.namespace, &object);
        let tried = read("create", named, probe.namespace, trying).await;
        (webhook.path, tried)
    });
    join_all(each).await.into_iter().collect()
}

/// Reads the pending requests of agents.
async fn requests(hub: &HubConnection) -> Fact<Vec<Pending>> {
    let named = ("certificatesigningrequests", "certificates.k8s.io");
    let filter = Filter::labels(berth_api::labels::CLUSTER_NAME);
    let listing = hub.list::<CertificateSigningRequest>(None, &filter);
    let items = read("list", named, None, listing).await?;
    let mut pending: Vec<Pending> = items
        .into_iter()
        .filter_map(|item| {
            let created = item
                .object
                .metadata
                .creation_timestamp
                .as_ref()
                .map(|it| it.0);
            let (request, standing) = CertificateRequest::read(item.object)?;
            (standing == Standing::Pending).then_some(Pending {
                request,
                created,
                may_renew: None,
            })
        })
        .collect();
    let config = Config::default();
    let questions: Vec<_> = pending
        .iter_mut()
        .filter_map(
            |pending| match csrs::decide(&config, &pending.request, None, None, None) {
                Decision::Ask(question) => Some((pending, *question)),
                _ => None,
            },
        )
        .take(MOST_RENEWALS)
        .collect();
    for (pending, answer) in ask_all(hub, questions).await {
        pending.may_renew = Some(answer);
    }
    Ok(pending)
}
