//! The sentences of denials, and of decisions that could not be made.
//!
//! A denial begins with OCM's exact sentence, because scripts match on it. Then it states what is missing and how to check
//! it. The message of an open decision states that it is not a denial.

pub(crate) mod addons;
pub mod faults;
pub mod warnings;
pub mod works;

use berth_api::reserved::Reservation;
use berth_api::{groups, labels};

use crate::display::{Flag, InNamespace, LastArgument, ObjectOrAll, Quoted, ShellWord, first_of};
use crate::{Denial, Permission, Reason, Undecided};

/// The requester may not accept this cluster, or withdraw the acceptance.
pub fn accept(user: &str, cluster: &str) -> Denial {
    let sentence = format!(
        "user {} cannot update the HubAcceptsClient field",
        Quoted(user)
    );
    without_accept(cluster, &sentence)
}

/// The name is reserved. The message contains no facts about the hub, so every requester may read it.
pub fn reserved_name(cluster: &str, reservation: Reservation<'_>) -> Denial {
    let why = format!("the name {reservation}; register the cluster under another name");
    denial(Reason::ReservedName, "managedclusters", cluster, &why)
}

/// It is not known whether the cluster already has its reserved name.
pub(crate) fn reserved_name_unknown(
    cluster: &str,
    reservation: Reservation<'_>,
    why: &str,
) -> Undecided {
    Undecided {
        message: format!(
            "cannot decide whether namespace {} belongs to the cluster already, as its name {reservation}: {why}: {NO_DENIAL}",
            Quoted(cluster)
        ),
    }
}

/// The requester may not revoke all permissions of this cluster's agent at once.
pub fn deny_now(user: &str, cluster: &str) -> Denial {
    let sentence = format!(
        "user {} cannot set annotation {}, which takes all rights from the cluster's agent at once",
        Quoted(user),
        labels::DENY_NOW
    );
    without_accept(cluster, &sentence)
}

/// The permission to accept this cluster is missing. The sentence states what it is needed for.
fn without_accept(cluster: &str, sentence: &str) -> Denial {
    let missing = missing(&Permission::accept(cluster));
    denial(
        Reason::Accept,
        "managedclusters/accept",
        cluster,
        &format!("{sentence}: {missing}"),
    )
}

/// The requester may not change the members of this set.
pub fn join(user: &str, set: &str) -> Denial {
    let sentence = format!(
        "user {} cannot add/remove a ManagedCluster to/from ManagedClusterSet {}",
        Quoted(user),
        Quoted(set)
    );
    let missing = missing(&Permission::join(set));
    denial(
        Reason::Join,
        "managedclustersets/join",
        set,
        &format!("{sentence}: {missing}"),
    )
}

/// The requester may not make a set select more clusters.
pub fn widen(user: &str, set: &str) -> Denial {
    let sentence = format!(
        "user {} cannot widen the selector of ManagedClusterSet {}",
        Quoted(user),
        Quoted(set)
    );
    let missing = missing(&Permission::join_all());
    denial(
        Reason::WidenSet,
        "managedclustersets/join",
        set,
        &format!("{sentence}: {missing}"),
    )
}

/// The requester may not bind this set. (OCM names the API group `apps` here.)
pub fn bind(user: &str, set: &str) -> Denial {
    let sentence = format!(
        "user {} is not allowed to bind cluster set {}",
        Quoted(user),
        Quoted(set)
    );
    let missing = missing(&Permission::bind(set));
    denial(
        Reason::Bind,
        "managedclustersets/bind",
        set,
        &format!("{sentence}: {missing}"),
    )
}

/// The cluster's namespace is terminating.
pub(crate) fn namespace_terminating(cluster: &str) -> Denial {
    let why = format!(
        "cluster namespace {} is terminating: wait until it is gone, then accept again; check: kubectl get namespace {}",
        Quoted(cluster),
        LastArgument(cluster)
    );
    denial(
        Reason::NamespaceTerminating,
        "managedclusters/accept",
        cluster,
        &why,
    )
}

/// The cluster's namespace holds bindings.
pub(crate) fn bindings_held(cluster: &str, bindings: &[String]) -> Denial {
    let why = format!(
        "namespace {} holds ManagedClusterSetBindings, and would become the namespace of the cluster's agent: \
         delete {} first; check: kubectl get managedclustersetbindings {}",
        Quoted(cluster),
        first_of(bindings.iter().map(|name| Quoted(name)), ", "),
        Flag("-n", cluster)
    );
    denial(
        Reason::BindingsHeld,
        "managedclusters/accept",
        cluster,
        &why,
    )
}

/// The namespace of a binding belongs to an accepted cluster.
pub fn cluster_namespace(set: &str, namespace: &str) -> Denial {
    let why = format!(
        "namespace {ns} belongs to the accepted ManagedCluster {ns}, whose agent works in it: \
         bind the set in another namespace; check: kubectl get managedcluster {}",
        LastArgument(namespace),
        ns = Quoted(namespace)
    );
    denial(
        Reason::ClusterNamespace,
        "managedclustersetbindings",
        set,
        &why,
    )
}

/// An agent labels a certificate request for another cluster. `own` is the agent's cluster, if its user name contains it.
pub fn foreign_request(user: &str, own: Option<&str>, name: &str, cluster: &str) -> Denial {
    let label = labels::CLUSTER_NAME;
    let remedy = match own {
        Some(own) => format!(
            "an agent files requests for its own cluster only: set the label {label}={}, or omit it",
            Quoted(own)
        ),
        None => {
            format!("this is not the user name of a cluster's agent: omit the label {label}")
        }
    };
    let what = format!("a request for ManagedCluster {}", Quoted(cluster));
    request(Reason::ForeignRequest, user, name, &what, &remedy)
}

/// Somebody else than the cluster's agent labels a certificate request for an add-on. `cluster` is the cluster of its label.
pub fn addon_request(user: &str, name: &str, cluster: Option<&str>) -> Denial {
    let what = match cluster {
        Some(cluster) => format!("an add-on's request for ManagedCluster {}", Quoted(cluster)),
        None => "an add-on's request for no ManagedCluster".to_owned(),
    };
    let remedy = format!(
        "only the agent of the cluster in the label {} does: omit the label {}",
        labels::CLUSTER_NAME,
        labels::ADDON_NAME
    );
    request(Reason::AddonRequest, user, name, &what, &remedy)
}

fn request(reason: Reason, user: &str, name: &str, what: &str, remedy: &str) -> Denial {
    let resource = "certificatesigningrequests";
    let message = format!(
        "{resource}.{} {} is forbidden: user {} cannot file {what}: {remedy}",
        groups::CERTIFICATES,
        Quoted(name),
        Quoted(user)
    );
    Denial {
        reason,
        group: groups::CERTIFICATES,
        resource,
        name: name.to_owned(),
        message,
    }
}

/// It is not known whether the requester has a permission.
pub(crate) fn permission_unknown(user: &str, permission: &Permission, why: &str) -> Undecided {
    let Permission {
        group,
        name,
        namespace,
        ..
    } = permission;
    let resource = permission.whole_resource();
    Undecided {
        message: format!(
            "cannot decide whether user {} may {} {resource}.{group} {}{}: {why}: {NO_DENIAL}",
            Quoted(user),
            permission.verbs.join(" or "),
            ObjectOrAll(name.as_deref()),
            InNamespace(namespace.as_deref())
        ),
    }
}

/// A fact about the hub is not known.
pub(crate) fn fact_unknown(what: &str, object: &str, why: &str) -> Undecided {
    Undecided {
        message: format!(
            "cannot decide whether {what} {}: {why}: {NO_DENIAL}",
            Quoted(object)
        ),
    }
}

/// The end of each message about a decision that could not be made.
pub const NO_DENIAL: &str = "this is not a denial, try again";

fn denial(reason: Reason, resource: &'static str, name: &str, why: &str) -> Denial {
    let group = groups::CLUSTER;
    let message = format!("{resource}.{group} {} is forbidden: {why}", Quoted(name));
    Denial {
        reason,
        group,
        resource,
        name: name.to_owned(),
        message,
    }
}

/// States the missing permission and how to check it.
fn missing(permission: &Permission) -> String {
    let Permission {
        verbs,
        group,
        resource,
        subresource,
        name,
        namespace,
        ..
    } = permission;
    let verb = verbs[0];
    let needs = format!("needs verb {verb:?} on {}", permission.whole_resource());
    let (mut of, object) = match name {
        Some(name) => (
            format!("name {}", Quoted(name)),
            format!("{resource}.{group}/{name}"),
        ),
        None => ("for all names".to_owned(), format!("{resource}.{group}")),
    };
    of.push_str(&InNamespace(namespace.as_deref()).to_string());
    if *group == groups::REGISTER {
        // The group is not in discovery, so kubectl would ask about a resource of the core group.
        let check = match name {
            Some(name) => format!("berth can-i {subresource} {}", LastArgument(name)),
            None => format!("berth can-i {subresource} --all"),
        };
        return format!("{needs} in API group {group}, {of}; check: {check}");
    }
    let subresource = match *subresource {
        "" => String::new(),
        subresource => format!("--subresource={subresource} "),
    };
    let check = format!(
        "kubectl auth can-i {verb} {} {subresource}{}",
        ShellWord(&object),
        match namespace {
            Some(namespace) => Flag("-n", namespace).to_string(),
            None => "-A".to_owned(),
        }
    );
    format!("{needs}, {of}; check: {check}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_in_a_namespace_says_so() {
        let permission = Permission::bind("prod").in_namespace("team-a");
        assert_eq!(
            missing(&permission),
            "needs verb \"create\" on managedclustersets/bind, name \"prod\" in namespace \"team-a\"; check: \
             kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/prod --subresource=bind -n team-a"
        );
        assert_eq!(
            permission_unknown("dev", &permission, "the hub is away").message,
            "cannot decide whether user \"dev\" may create \
             managedclustersets/bind.cluster.open-cluster-management.io \"prod\" in namespace \"team-a\": \
             the hub is away: this is not a denial, try again"
        );
    }
}
