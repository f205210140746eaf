//! The registrations of add-ons: each is a certificate from the hub, in a Secret in the add-on's install namespace.

use std::collections::BTreeSet;

use berth_api::{agents, names};

use super::fact::{self, Addon};
use super::token::{self, Token};
use super::{Driver, Place};
use crate::asked::{API_SERVER, Asked, Subject};

/// A registration of an add-on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The name of the add-on.
    pub addon: String,
    /// Where its Secret is.
    pub place: Place,
    /// The name of its Secret.
    pub secret: String,
    /// What it asks for.
    pub asked: Asked,
    /// It gets a token, and not a certificate.
    pub token: Option<Token>,
}

/// A registration that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The name of the add-on.
    pub addon: String,
    /// What is wrong with it.
    pub why: String,
}

/// Returns the registrations of all add-ons of the cluster. Of two with the same Secret, the first one counts.
pub fn registrations<'a>(
    cluster: &str,
    expiration_seconds: Option<i32>,
    driver: Driver,
    addons: impl IntoIterator<Item = (&'a str, &'a Addon)>,
) -> (Vec<Registration>, Vec<Invalid>) {
    let mut taken = BTreeSet::new();
    let (mut valid, mut invalid) = (Vec::new(), Vec::new());
    for (name, addon) in addons {
        for wanted in &addon.registrations {
            let mut registration = Registration {
                addon: name.to_owned(),
                place: addon.place(),
                secret: secret(name, wanted.signer.as_deref()),
                asked: asked(cluster, expiration_seconds, name, wanted),
                token: None,
            };
            if let (None, Driver::Token { seconds }) = (&wanted.signer, driver) {
                registration.asked.subject = Subject {
                    user: token::user(cluster, name),
                    ..Subject::default()
                };
                registration.token = Some(Token {
                    account: token::account(name),
                    uid: token::uid(addon),
                    seconds,
                });
            }
            // The names come from the hub. They are parts of paths, and of a query.
            let mut problems = names::dns1123_label(&addon.namespace);
            problems.extend(names::dns1123_subdomain(&registration.secret));
            problems.extend(names::label_value(name));
            let of = |why: String| Invalid {
                addon: name.to_owned(),
                why,
            };
            if !problems.is_empty() {
                invalid.push(of(format!(
                    "Secret {:?} in namespace {:?} of add-on {name:?} cannot be created: {}",
                    registration.secret,
                    addon.namespace,
                    problems.join("; ")
                )));
            } else if taken.insert((registration.place.clone(), registration.secret.clone())) {
                valid.push(registration);
            } else {
                invalid.push(of(format!(
                    "Secret {} in namespace {} is asked for twice: once by add-on {name}",
                    registration.secret, addon.namespace
                )));
            }
        }
    }
    (valid, invalid)
}

// === impl Registration ===

impl Registration {
    /// Returns a digest of what it asks for: a Secret for something else is of no use.
    #[must_use]
    pub fn mark(&self) -> String {
        let mark = self.asked.mark();
        match &self.token {
            None => mark,
            Some(_) => format!("token-{mark}"),
        }
    }
}

fn secret(addon: &str, signer: Option<&str>) -> String {
    match signer {
        None => format!("{addon}-hub-kubeconfig"),
        Some(signer) => format!("{addon}-{}-client-cert", signer.replace('/', "-")),
    }
}

fn asked(
    cluster: &str,
    expiration_seconds: Option<i32>,
    addon: &str,
    wanted: &fact::Registration,
) -> Asked {
    let group = format!("{}cluster:{cluster}:addon:{addon}", agents::PREFIX);
    let account = token::user(cluster, addon);
    let user = match wanted.user.as_str() {
        // The account was written there by an agent that used tokens.
        user if user.is_empty() || user == account => format!("{group}:agent:{addon}"),
        user => user.to_owned(),
    };
    let groups = match &wanted.signer {
        None if wanted.groups.is_empty() => vec![group],
        _ => wanted.groups.clone(),
    };
    Asked {
        cluster: cluster.to_owned(),
        agent: None,
        addon: Some(addon.to_owned()),
        signer: (wanted.signer.clone()).unwrap_or_else(|| API_SERVER.to_owned()),
        subject: Subject {
            user,
            groups,
            units: wanted.units.clone(),
            dns_names: vec![format!("{addon}.addon.open-cluster-management.io")],
        },
        has_kubeconfig: wanted.signer.is_none(),
        expiration_seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addon(registrations: Vec<fact::Registration>) -> Addon {
        Addon {
            namespace: "n".to_owned(),
            registrations,
            ..Addon::default()
        }
    }

    fn signed_by(signer: &str) -> fact::Registration {
        fact::Registration {
            signer: Some(signer.to_owned()),
            ..fact::Registration::default()
        }
    }

    #[test]
    fn defaults_are_those_of_ocms_agent() {
        let addon = addon(vec![
            fact::Registration::default(),
            signed_by("example.com/a/b"),
        ]);
        let (valid, invalid) = registrations("c1", Some(3600), Driver::Csr, [("x", &addon)]);
        assert_eq!(invalid, []);
        let [client, custom] = &valid[..] else {
            panic!("{valid:?}")
        };
        let user = "system:open-cluster-management:cluster:c1:addon:x:agent:x";
        for (registration, secret, signer, groups, has_kubeconfig) in [
            (
                client,
                "x-hub-kubeconfig",
                API_SERVER,
                &["system:open-cluster-management:cluster:c1:addon:x"][..],
                true,
            ),
            (
                custom,
                "x-example.com-a-b-client-cert",
                "example.com/a/b",
                &[],
                false,
            ),
        ] {
            let Asked { subject, .. } = &registration.asked;
            assert_eq!(registration.secret, secret);
            assert_eq!(registration.asked.signer, signer);
            assert_eq!(subject.user, user);
            assert_eq!(subject.groups, groups);
            assert_eq!(subject.dns_names, ["x.addon.open-cluster-management.io"]);
            assert_eq!(registration.asked.has_kubeconfig, has_kubeconfig);
            assert_eq!(registration.asked.expiration_seconds, Some(3600));
        }
    }

    #[test]
    fn with_tokens_other_signers_still_sign_certificates() {
        let addon = addon(vec![
            fact::Registration::default(),
            signed_by("example.com/s"),
        ]);
        let driver = Driver::Token { seconds: 600 };
        let (valid, _) = registrations("c1", None, driver, [("x", &addon)]);
        let (csr, _) = registrations("c1", None, Driver::Csr, [("x", &addon)]);
        let token = valid[0].token.as_ref().unwrap();
        assert_eq!((token.account.as_str(), token.seconds), ("x-agent", 600));
        let user = "system:serviceaccount:c1:x-agent";
        assert_eq!(valid[0].asked.subject.user, user);
        assert_eq!(valid[0].secret, csr[0].secret);
        assert_ne!(valid[0].mark(), csr[0].mark());
        assert_eq!(valid[1], csr[1]);
    }

    #[test]
    fn the_subject_is_the_one_that_the_hub_names() {
        let wanted = |signer: Option<&str>| fact::Registration {
            signer: signer.map(str::to_owned),
            user: "u".to_owned(),
            groups: vec!["g".to_owned()],
            units: vec!["o".to_owned()],
        };
        for signer in [None, Some("example.com/s")] {
            let asked = asked("c1", None, "x", &wanted(signer));
            assert_eq!(asked.subject.user, "u");
            assert_eq!(asked.subject.groups, ["g"]);
            assert_eq!(asked.subject.units, ["o"]);
        }
    }

    #[test]
    fn the_account_of_a_token_is_no_subject_of_a_certificate() {
        let token = fact::Registration {
            user: token::user("c1", "x"),
            ..fact::Registration::default()
        };
        let default = asked("c1", None, "x", &fact::Registration::default());
        assert_eq!(asked("c1", None, "x", &token), default);
    }

    #[test]
    fn names_that_would_lead_elsewhere_are_refused() {
        let elsewhere = |namespace: &str| Addon {
            namespace: namespace.to_owned(),
            ..addon(vec![fact::Registration::default()])
        };
        for (sentence, name, addon, words) in [
            (
                "a path",
                "x",
                elsewhere("n/../kube-system"),
                "cannot be created",
            ),
            (
                "a query",
                "x",
                addon(vec![signed_by("a/b?c")]),
                "x-a-b?c-client-cert",
            ),
            (
                "longer than a label",
                "x".repeat(64).as_str(),
                addon(vec![fact::Registration::default()]),
                "cannot be created",
            ),
            (
                "twice",
                "x",
                addon(vec![signed_by("a/b"), signed_by("a-b")]),
                "asked for twice",
            ),
        ] {
            let (_, invalid) = registrations("c1", None, Driver::Csr, [(name, &addon)]);
            assert_eq!(invalid.len(), 1, "{sentence}: {invalid:?}");
            assert!(invalid[0].why.contains(words), "{sentence}: {invalid:?}");
        }
    }
}
