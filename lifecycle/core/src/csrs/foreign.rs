//! CSRs that an agent labelled for another cluster.
//!
//! OCM's agents send no request while the hub has ten with the label of their cluster, in any state and from any user. So ten
//! requests with a cluster's label keep its agents from renewing their certificates. The gate refuses new requests of that
//! kind; the controller removes the label from existing ones.

use berth_api::certificate_request::target;
use berth_api::{agents, labels};
use serde_json::json;

use super::{Decision, LONGEST_NAME, Named, quoted};
use crate::facts::CertificateRequest;
use berth_api::plan::{Action, Event, Write};

/// The reason of the Event about such a request.
const EVENT: &str = "ManagedClusterCSRForeignLabel";

/// Returns true if an agent sent it, and its label names another cluster.
pub fn is_foreign(request: &CertificateRequest) -> bool {
    request.groups.iter().any(|group| group == agents::ALL)
        && agents::cluster_of(&request.username).is_some_and(|cluster| cluster != request.cluster)
}

/// Removes the label.
pub(super) fn unlabel(request: &CertificateRequest) -> Decision {
    let named = Named(request);
    let key = labels::CLUSTER_NAME;
    let why = "an agent of another cluster sent it, and ten requests with a cluster's label keep its agents from renewing";
    let write = Write {
        target: target(&request.name),
        action: Action::Patch {
            subresource: None,
            body: json!({
                "metadata": {
                    "uid": request.metadata.uid,
                    "resourceVersion": request.metadata.resource_version,
                    "labels": {(key): null},
                },
            }),
        },
        reconciler: super::NAME,
        events: vec![event(format!("{named} lost the label {key}: {why}"))],
    };
    let name = quoted(&request.name, LONGEST_NAME);
    let kept = event(format!(
        "{named} keeps the label {key}, which the hub may not remove (it may not patch certificatesigningrequests): {why}; \
         delete CertificateSigningRequest {name}"
    ));
    Decision::Unlabel {
        write: Box::new(write),
        kept: Box::new(kept),
    }
}

fn event(note: String) -> Event {
    Event {
        warning: true,
        reason: EVENT,
        note,
        namespace: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_by(username: &str, groups: &[&str], label: &str) -> CertificateRequest {
        CertificateRequest {
            name: "csr1".to_owned(),
            username: username.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            cluster: label.to_owned(),
            ..CertificateRequest::default()
        }
    }

    #[test]
    fn an_agent_is_known_by_its_exact_name_and_the_group_of_all() {
        let user = |rest: &str| format!("system:open-cluster-management:{rest}");
        let all = agents::ALL;
        for (sentence, username, groups, foreign) in [
            ("another cluster's agent", user("c2:a1"), &[all][..], true),
            (
                "one whose name begins the same",
                user("c10:a1"),
                &[all],
                true,
            ),
            ("its own agent", user("c1:a1"), &[all], false),
            ("not in the group", user("c2:a1"), &["x"], false),
            ("in no group", user("c2:a1"), &[], false),
            ("no agent's name", user("c2"), &[all], false),
            ("no agent", user("c2:"), &[all], false),
            ("no cluster", user(":a1"), &[all], false),
            (
                "an add-on's name",
                user("cluster:c2:addon:a"),
                &[all],
                false,
            ),
            (
                "a bootstrap token",
                "system:bootstrap:abcdef".to_owned(),
                &[all],
                false,
            ),
            ("a person", "jane".to_owned(), &[all], false),
        ] {
            let request = sent_by(&username, groups, "c1");
            assert_eq!(is_foreign(&request), foreign, "{sentence}");
        }
    }

    #[test]
    fn nothing_but_the_label_is_taken_and_whoever_reads_of_it_knows_why() {
        let mut request = sent_by("system:open-cluster-management:c2:a1", &[agents::ALL], "c1");
        request.metadata.uid = Some("u1".to_owned());
        request.metadata.resource_version = Some("7".to_owned());
        // To whichever signer, in whichever state.
        let config = crate::config::Config::default();
        let decision = super::super::decide(&config, &request, None, None, None);
        let Decision::Unlabel { write, kept } = decision else {
            panic!("{decision:?}");
        };
        let Action::Patch { subresource, body } = &write.action else {
            panic!("{write:?}");
        };
        assert_eq!(*subresource, None);
        let expected = json!({"metadata": {
            "uid": "u1", "resourceVersion": "7",
            "labels": {"open-cluster-management.io/cluster-name": null},
        }});
        assert_eq!(*body, expected);
        for event in [&write.events[0], &kept] {
            assert!(event.warning && event.note.len() <= 1024);
            for words in ["\"csr1\"", "c2:a1", "\"c1\"", "ten requests"] {
                assert!(event.note.contains(words), "{words}: {}", event.note);
            }
        }
    }
}
