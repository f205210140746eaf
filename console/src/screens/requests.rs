//! The screen Requests: clusters and CSRs that wait for a decision. A plain function of what is followed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use berth_admin::answers::{self, Decision};
use berth_api::conditions::{TRUE, UNKNOWN, cluster};
use berth_lifecycle_core::facts::{CertificateRequest, Cluster, Standing};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::answers::State;
use crate::answers::{Act, CsrAnswer, CsrStanding, PendingCluster, RequestsAnswer, Text};
use crate::fact::ClusterFact;
use crate::live::{CsrObject, Csrs};
use crate::screens::offers::{Lacks, Target};
use crate::table::Table;

/// Upper bound on the clusters that are shown.
pub(crate) const MOST_CLUSTERS: usize = 100;

/// Upper bound on the CSRs of a cluster, and on those without one, that are shown.
const MOST_SHOWN_CSRS: usize = 20;

/// The group of all users.
const AUTHENTICATED: &str = "system:authenticated";

/// The clusters that wait for a decision, the newest first, and the number of those that are left out.
pub(crate) fn waiting(table: &Table, csrs: &Csrs) -> (Vec<Arc<ClusterFact>>, usize) {
    let asking: HashSet<&str> = csrs
        .iter()
        .filter(|it| it.standing == Standing::Pending && !is_renewal(it))
        .map(|it| it.request.cluster.as_str())
        .collect();
    let waits = |it: &&Arc<ClusterFact>| match it.row.state {
        State::Pending => true,
        State::Deleting => false,
        _ => asking.contains(it.name.as_str()),
    };
    let mut named: Vec<Arc<ClusterFact>> = table.iter().filter(waits).cloned().collect();
    named.sort_unstable_by(|a, b| (b.row.created, &a.name).cmp(&(a.row.created, &b.name)));
    let more = named.len().saturating_sub(MOST_CLUSTERS);
    named.truncate(MOST_CLUSTERS);
    (named, more)
}

/// An agent renews its certificate with the certificate.
fn is_renewal(csr: &CsrObject) -> bool {
    csr.request
        .username
        .starts_with("system:open-cluster-management:")
}

/// Returns the answer. `lacks` has what the user lacks for each cluster of [`waiting`].
pub(crate) fn requests(
    table: &Table,
    csrs: &Csrs,
    lacks: &BTreeMap<String, Lacks>,
    notes: Vec<Text>,
) -> RequestsAnswer {
    let (waiting, more) = waiting(table, csrs);
    let unknown = Lacks::default();
    let clusters = waiting.iter().map(|fact| {
        let lacks = lacks.get(&fact.name).unwrap_or(&unknown);
        pending(fact, csrs, lacks)
    });
    let strays = csrs
        .iter()
        .filter(|it| it.standing == Standing::Pending && table.get(&it.request.cluster).is_none());
    let mut strays: Vec<CsrAnswer> = strays
        .map(|it| {
            let judged = judge(&it.request.cluster, &Cluster::default(), [it]);
            let mut judged = judged.csrs.into_iter();
            judged
                .next()
                .map_or_else(|| shown(&it.request), |csr| of(&csr))
        })
        .take(MOST_SHOWN_CSRS)
        .collect();
    for stray in &mut strays {
        if stray.standing == CsrStanding::Approve {
            stray.standing = CsrStanding::Left;
            stray.why = Some("its cluster does not exist".into());
        }
    }
    RequestsAnswer {
        clusters: clusters.collect(),
        strays,
        more,
        notes,
    }
}

fn pending(fact: &ClusterFact, csrs: &Csrs, lacks: &Lacks) -> PendingCluster {
    let of_cluster: Vec<_> = csrs.of(&fact.name).collect();
    let judged = judge(&fact.name, &cluster_of(fact), of_cluster.iter().copied());
    let warnings = warnings(fact, &judged);
    let mut answers: Vec<CsrAnswer> = judged.csrs.iter().map(of).collect();
    answers.sort_by_key(|it| Reverse(it.created));
    answers.truncate(MOST_SHOWN_CSRS);
    let offers = [Act::Accept, Act::Deny];
    PendingCluster {
        name: fact.row.name.clone(),
        accepted: fact.accepted,
        denied: fact.denied,
        created: fact.row.created,
        urls: fact.urls.to_vec(),
        csrs: answers,
        warnings,
        actions: offers
            .map(|act| lacks.offer(act, Target::Cluster(&fact.name)))
            .into(),
    }
}

/// What an admin should look at before the acceptance.
fn warnings(fact: &ClusterFact, judged: &answers::Csrs) -> Vec<Text> {
    let mut warnings = Vec::new();
    if !judged.different.is_empty() {
        warnings.push(
            format!(
                "CSRs of different requesters wait, one of which may be an attacker's: {}; accept refuses until one is named by \
                 --requesters",
                judged.different.join(", ")
            )
            .into(),
        );
    }
    if fact.denied && !fact.accepted {
        warnings.push("an admin has denied this cluster before".into());
    }
    if judged.csrs.is_empty() {
        warnings.push("its agent has not sent a CSR: the acceptance waits for one".into());
    }
    for csr in &judged.csrs {
        if let Decision::Left(why) = &csr.decision {
            let name = berth_rules::display::Quoted(&csr.request.name);
            warnings.push(format!("CSR {name} would not be approved: {why}").into());
        }
    }
    warnings.truncate(MOST_SHOWN_CSRS);
    warnings
}

/// As much of the cluster as the decision about its CSRs needs.
pub(crate) fn cluster_of(fact: &ClusterFact) -> Cluster {
    let condition = |type_: &str, status: &str| Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        message: String::new(),
        observed_generation: None,
        reason: String::new(),
    };
    let mut conditions = Vec::new();
    if fact.joined {
        let available = if fact.in_use { TRUE } else { UNKNOWN };
        conditions.push(condition(cluster::JOINED, TRUE));
        conditions.push(condition(cluster::AVAILABLE, available));
    }
    Cluster {
        accepted: fact.accepted,
        conditions,
        ..Cluster::default()
    }
}

/// Decides about CSRs as `berth accept` does.
pub(crate) fn judge<'a>(
    name: &str,
    cluster: &Cluster,
    csrs: impl IntoIterator<Item = &'a Arc<CsrObject>>,
) -> answers::Csrs {
    let csrs = csrs.into_iter().map(|it| (it.request.clone(), it.standing));
    answers::csrs(name, cluster, csrs.collect())
}

fn of(csr: &answers::Csr) -> CsrAnswer {
    let (standing, why) = match &csr.decision {
        Decision::Approve => (CsrStanding::Approve, None),
        Decision::Approved => (CsrStanding::Approved, None),
        Decision::Denied => (CsrStanding::Denied, None),
        Decision::Renewal => (CsrStanding::Renewal, None),
        Decision::Left(why) => (CsrStanding::Left, Some(why.as_str().into())),
    };
    CsrAnswer {
        requester: csr.requester.as_deref().map(Text::line),
        fingerprint: csr.fingerprint.as_deref().map(Text::line),
        standing,
        why,
        ..shown(&csr.request)
    }
}

fn shown(request: &CertificateRequest) -> CsrAnswer {
    let groups = request.groups.iter().filter(|it| *it != AUTHENTICATED);
    CsrAnswer {
        name: Text::line(&request.name),
        cluster: Text::line(&request.cluster),
        sender: Text::line(&request.username),
        groups: groups
            .take(MOST_SHOWN_CSRS)
            .map(|it| Text::line(it))
            .collect(),
        requester: None,
        fingerprint: None,
        created: request.created,
        standing: CsrStanding::Left,
        why: None,
    }
}

#[cfg(test)]
mod tests {
    use berth_reconcile::Item;
    use serde_json::{Value, json};

    use super::*;
    use crate::live::Store;

    fn csrs(objects: &[Value]) -> Csrs {
        let mut csrs = Csrs::default();
        for object in objects {
            let text = object.to_string();
            let item = Item::read(text.as_bytes()).unwrap();
            let read = <Csrs as Store>::read(&item);
            Store::insert(&mut csrs, &item.meta.name, read);
        }
        csrs
    }

    fn csr(name: &str, cluster: &str, user: &str) -> Value {
        json!({
            "metadata": {"name": name, "labels": {"open-cluster-management.io/cluster-name": cluster}},
            "spec": {
                "signerName": "kubernetes.io/kube-apiserver-client", "request": "", "usages": [],
                "username": user, "groups": ["g\u{202e}", "system:authenticated"],
            },
        })
    }

    fn table(names: &[(&str, bool)]) -> Table {
        let mut table = Table::default();
        for (name, accepted) in names {
            table.insert(ClusterFact::read(&json!({
                "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {"hubAcceptsClient": accepted},
            })));
        }
        table
    }

    #[test]
    fn what_waits_is_shown_with_what_to_look_at() {
        let table = table(&[("new", false), ("old", true), ("other", true)]);
        let csrs = csrs(&[
            csr("new-1", "new", "system:bootstrap:a"),
            csr("other-1", "other", "system:open-cluster-management:other:a"),
            csr("old-1", "old", "mallory"),
            csr("lost-1", "lost", "mallory"),
        ]);
        let answer = requests(&table, &csrs, &BTreeMap::new(), Vec::new());
        let names: Vec<_> = answer.clusters.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["new", "old"]);
        let new = &answer.clusters[0];
        assert_eq!(new.csrs[0].groups, [Text::line("g\u{202e}")]);
        assert_eq!(new.csrs[0].groups[0].as_str(), r"g\u{202e}");
        // It is malformed, so that accept would not approve it.
        assert_eq!(new.csrs[0].standing, CsrStanding::Left);
        assert!(
            new.warnings[0]
                .as_str()
                .contains("\"new-1\" would not be approved")
        );
        assert_eq!(answer.strays.len(), 1);
        assert_eq!(answer.strays[0].name.as_str(), "lost-1");
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let names: Vec<String> = (0..150).map(|at| format!("c{at:03}")).collect();
        let all: Vec<_> = names.iter().map(|it| (it.as_str(), false)).collect();
        let answer = requests(&table(&all), &Csrs::default(), &BTreeMap::new(), Vec::new());
        assert_eq!((answer.clusters.len(), answer.more), (MOST_CLUSTERS, 50));
        assert!(
            answer.clusters[0].warnings[0]
                .as_str()
                .contains("has not sent a CSR")
        );
    }
}
