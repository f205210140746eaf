//! What a registration asks the hub for: that of the cluster, and those of its add-ons.

pub use berth_api::agents::API_SERVER;
use berth_api::labels;
use berth_certs::client::ClientCertificate;
use berth_certs::pem::{hex, sha256};
use serde_json::{Value, json};

use crate::held::{self, SecretData};
use crate::identity::Identity;

/// What a registration asks the hub for, and what its Secret contains beside the certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    /// The name of the cluster.
    pub cluster: String,
    /// The name of the agent, for the registration of the cluster.
    pub agent: Option<String>,
    /// The name of the add-on, for the registration of an add-on.
    pub addon: Option<String>,
    /// The signer of the certificate.
    pub signer: String,
    /// The subject of the certificate.
    pub subject: Subject,
    /// The Secret contains a kubeconfig for the hub.
    pub has_kubeconfig: bool,
    /// The lifetime of the certificate. `None` leaves it to the signer.
    pub expiration_seconds: Option<i32>,
}

/// The subject of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The common name: the user name on the hub.
    pub user: String,
    /// The organizations: the groups on the hub.
    pub groups: Vec<String>,
    /// The organizational units.
    pub units: Vec<String>,
    /// The alternative names of the request. They are not compared: a signer may leave them out.
    pub dns_names: Vec<String>,
}

// === impl Asked ===

impl Asked {
    /// Returns what the registration of the cluster asks for.
    #[must_use]
    pub fn of_cluster(identity: &Identity, expiration_seconds: Option<i32>) -> Self {
        Self {
            cluster: identity.cluster.clone(),
            agent: Some(identity.agent.clone()),
            addon: None,
            signer: API_SERVER.to_owned(),
            subject: Subject {
                user: identity.user(),
                groups: identity.groups().to_vec(),
                ..Subject::default()
            },
            has_kubeconfig: true,
            expiration_seconds,
        }
    }

    /// Returns the beginning of the names of its CSRs. OCM's hubs look at it.
    #[must_use]
    pub fn prefix(&self) -> String {
        let Self { cluster, addon, .. } = self;
        match addon {
            None => format!("{cluster}-"),
            Some(addon) => format!("addon-{cluster}-{addon}-"),
        }
    }

    /// Returns the labels of its CSRs.
    #[must_use]
    pub fn labels(&self) -> Value {
        match &self.addon {
            None => json!({labels::CLUSTER_NAME: self.cluster}),
            Some(addon) => json!({
                labels::CLUSTER_NAME: self.cluster,
                labels::ADDON_NAME: addon,
            }),
        }
    }

    /// Returns the label selector of its CSRs.
    #[must_use]
    pub fn selector(&self) -> String {
        let cluster = format!("{}={}", labels::CLUSTER_NAME, self.cluster);
        let label = labels::ADDON_NAME;
        match &self.addon {
            None => format!("{cluster},!{label}"),
            Some(addon) => format!("{cluster},{label}={addon}"),
        }
    }

    /// Returns the names in its Secret.
    #[must_use]
    pub fn names(&self) -> SecretData {
        let cluster = (held::CLUSTER_NAME, Some(&self.cluster));
        let agent = (held::AGENT_NAME, self.agent.as_ref());
        [cluster, agent]
            .into_iter()
            .filter_map(|(key, name)| Some((key.to_owned(), name?.clone().into_bytes())))
            .collect()
    }

    /// Returns a digest of signer and subject: a certificate for another one is of no use.
    #[must_use]
    pub fn mark(&self) -> String {
        let Self {
            signer, subject, ..
        } = self;
        let text = json!([
            signer,
            subject.user,
            sorted(&subject.groups),
            sorted(&subject.units)
        ]);
        hex(&sha256(text.to_string().as_bytes()))
    }
}

// === impl Subject ===

impl Subject {
    /// Returns true if this is the subject of the certificate. The order of groups and units does not count.
    #[must_use]
    pub fn is_of(&self, certificate: &ClientCertificate) -> bool {
        self.user == certificate.common_name
            && sorted(&self.groups) == sorted(&certificate.organizations)
            && sorted(&self.units) == sorted(&certificate.units)
    }
}

fn sorted(names: &[String]) -> Vec<&str> {
    let mut names: Vec<_> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn asked() -> Asked {
        Asked::of_cluster(&Identity::new("c1", "a1").unwrap(), None)
    }

    #[test]
    fn a_certificate_is_compared_by_user_groups_and_units() {
        let subject = asked().subject;
        let user = subject.user.as_str();
        let (one, all) = (subject.groups[0].as_str(), subject.groups[1].as_str());
        for (common_name, organizations, units, expected) in [
            (user, vec![one, all], vec![], true),
            (user, vec![all, one], vec![], true),
            (user, vec![all, one, one], vec![], true),
            (user, vec![one], vec![], false),
            (user, vec![one, all, "x"], vec![], false),
            (user, vec![one, all], vec!["x"], false),
            (
                "system:open-cluster-management:c1:a2",
                vec![one, all],
                vec![],
                false,
            ),
            (
                "system:open-cluster-management:c1:a1:",
                vec![one, all],
                vec![],
                false,
            ),
        ] {
            let texts = |it: &[&str]| it.iter().map(ToString::to_string).collect();
            let certificate = ClientCertificate {
                common_name: common_name.to_owned(),
                organizations: texts(&organizations),
                units: texts(&units),
                key: [0; 32],
                not_before: Timestamp::UNIX_EPOCH,
                not_after: Timestamp::UNIX_EPOCH,
                digest: [0; 32],
            };
            assert_eq!(subject.is_of(&certificate), expected, "{certificate:?}");
        }
    }

    #[test]
    fn a_mark_changes_with_signer_and_subject_alone() {
        let own = asked();
        let change = |change: fn(&mut Asked)| {
            let mut other = asked();
            change(&mut other);
            other.mark() == own.mark()
        };
        assert!(change(|it| it.subject.groups.reverse()));
        assert!(change(|it| it.expiration_seconds = Some(3600)));
        assert!(!change(|it| it.subject.user.push('x')));
        assert!(!change(|it| it.subject.units.push("x".to_owned())));
        assert!(!change(|it| it.signer.push('x')));
    }

    #[test]
    fn an_add_ons_requests_are_not_those_of_the_cluster() {
        let addon = Asked {
            addon: Some("x".to_owned()),
            ..asked()
        };
        assert_eq!(asked().prefix(), "c1-");
        assert_eq!(addon.prefix(), "addon-c1-x-");
        let cluster = "open-cluster-management.io/cluster-name=c1";
        let label = "open-cluster-management.io/addon-name";
        assert_eq!(asked().selector(), format!("{cluster},!{label}"));
        assert_eq!(addon.selector(), format!("{cluster},{label}=x"));
        assert_eq!(addon.labels()[label], "x");
    }
}
