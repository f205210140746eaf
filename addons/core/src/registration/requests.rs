//! Which certificate requests of add-ons are approved, and which are signed.
//!
//! OCM approves a request whose sender's name begins with that of the cluster, so `c10` may ask for `c1`; it looks neither at usages nor at
//! alternative names; and it approves everything for another signer. Here a request is approved only if
//! - its sender is an agent of the cluster that the label names, to the colon, and the cluster is accepted;
//! - the cluster has the add-on that the label names, and its template has a registration for the signer;
//! - subject and alternative names are those of that registration, and the usages those of a client.

mod steps;
#[cfg(test)]
mod tests;

pub use steps::{Step, step};

use berth_api::addon::{
    AddOnTemplateSpec, CustomSignerRegistrationConfig, RegistrationSpecType, Subject,
};
use berth_api::agents;
use berth_api::names::is_dns1123_label;
use berth_api::text::{is_plain, shorten};
use berth_certs::csr::{Csr, Usage, is_one_request};

use super::subjects::{cluster_group, custom_subject, default_groups, default_user};

/// Upper bound on the bytes of a request. That of an agent has less than 1 KiB, with an RSA key of 8192 bits less than 4 KiB.
const LARGEST: usize = 16 * 1024;

/// Upper bound on the bytes of a requester's text in a message.
const LONGEST: usize = 150;

/// The group that Kubernetes adds to each user, and that agents may ask for.
const AUTHENTICATED: &str = "system:authenticated";

/// The beginning of the names of the requests of add-ons.
const PREFIX: &str = "addon";

/// A CertificateSigningRequest with the labels of a cluster and an add-on.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// metadata.name
    pub name: &'a str,
    /// The label `open-cluster-management.io/cluster-name`: set by the requester, so not to be trusted.
    pub cluster: &'a str,
    /// The label `open-cluster-management.io/addon-name`: as the other one.
    pub addon: &'a str,
    /// spec.signerName
    pub signer: &'a str,
    /// spec.request: PEM.
    pub pem: &'a [u8],
    /// spec.usages
    pub usages: &'a [String],
    /// spec.username, set by the API server.
    pub username: &'a str,
}

/// What the hub knows about the cluster and the add-on that the labels name.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The ManagedCluster exists, is accepted, and is not being deleted.
    pub cluster_is_accepted: bool,
    /// The template of the cluster's ManagedClusterAddOn. `None` without ManagedClusterAddOn, or if its template is not known.
    pub template: Option<&'a AddOnTemplateSpec>,
}

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Approve it.
    Approve,
    /// Leave it to an admin.
    Leave {
        /// One of a few reasons, for metrics.
        reason: &'static str,
        /// Text for users.
        note: String,
    },
    /// Not a request for an add-on from a template: do nothing.
    Ignore,
}

/// Decides about a pending request. For another signer than the API server's, ask again before it is signed: the template may have changed.
#[must_use]
pub fn judge(request: &Request<'_>, facts: &Facts<'_>) -> Verdict {
    if !request.name.starts_with(PREFIX) {
        return Verdict::Ignore;
    }
    let Some(template) = facts.template else {
        return Verdict::Ignore;
    };
    let Some(expected) = expected(request, template) else {
        return Verdict::Ignore;
    };
    let checks = check_requester(request, facts)
        .and_then(|()| check_usages(request.usages))
        .and_then(|()| read(request.pem))
        .and_then(|csr| check_subject(&csr, &expected).map(|()| csr))
        .and_then(|csr| check_alternative_names(&csr, request.addon));
    match checks {
        Ok(()) => Verdict::Approve,
        Err((reason, why)) => Verdict::Leave {
            reason,
            note: format!(
                "CertificateSigningRequest {:?} of user {} for add-on {} of ManagedCluster {} gets no certificate from the hub: {why}",
                shorten(request.name, LONGEST),
                quoted(request.username),
                quoted(request.addon),
                quoted(request.cluster),
            ),
        },
    }
}

/// Why a request is left to an admin: the reason, and text for users.
type Refusal = (&'static str, String);

/// The subject that a request must have.
struct Expected {
    subject: Subject,
    /// The group of all authenticated users may be among the organizations.
    with_authenticated: bool,
}

/// `None` if the template has no registration for the signer.
fn expected(request: &Request<'_>, template: &AddOnTemplateSpec) -> Option<Expected> {
    let Request { cluster, addon, .. } = *request;
    if request.signer == agents::API_SERVER {
        let mut all = template.registration.iter();
        all.find(|it| it.r#type == RegistrationSpecType::KubeClient)?;
        return Some(Expected {
            subject: Subject {
                user: default_user(cluster, addon),
                groups: default_groups(cluster, addon).into(),
                organization_units: Vec::new(),
            },
            with_authenticated: true,
        });
    }
    let custom = custom_signer(template, request.signer)?;
    let mut subject = custom_subject(cluster, addon, custom);
    if subject.user.is_empty() {
        // The agent's own default, which it uses if the hub names no user.
        subject.user = format!("{}:agent:{addon}", cluster_group(cluster, addon));
    }
    Some(Expected {
        subject,
        with_authenticated: false,
    })
}

/// The registration of a template for another signer than the API server's.
fn custom_signer<'a>(
    template: &'a AddOnTemplateSpec,
    signer: &str,
) -> Option<&'a CustomSignerRegistrationConfig> {
    template
        .registration
        .iter()
        .filter(|it| it.r#type == RegistrationSpecType::CustomSigner)
        .filter_map(|it| it.custom_signer.as_ref())
        .find(|custom| custom.signer_name == signer)
}

fn check_requester(request: &Request<'_>, facts: &Facts<'_>) -> Result<(), Refusal> {
    // A name with a colon could make the subject of another add-on or cluster.
    if !is_dns1123_label(request.cluster) || request.addon.contains(':') {
        let why = "the labels do not name a cluster and an add-on".to_owned();
        return Err(("InvalidLabels", why));
    }
    if agents::cluster_of(request.username) != Some(request.cluster) {
        let why = format!(
            "the user is not an agent of the cluster: {}{}:AGENT",
            agents::PREFIX,
            request.cluster
        );
        return Err(("ForeignRequester", why));
    }
    if !facts.cluster_is_accepted {
        let why = "the ManagedCluster is not accepted (spec.hubAcceptsClient), or is being deleted";
        return Err(("ClusterNotAccepted", why.to_owned()));
    }
    Ok(())
}

fn check_usages(usages: &[String]) -> Result<(), Refusal> {
    if let Some(other) = usages.iter().find(|usage| Usage::named(usage).is_none()) {
        let why = format!(
            "it asks for the usage {}; the certificate of a client is for digital signature, key encipherment and client auth",
            quoted(other)
        );
        return Err(("InvalidUsages", why));
    }
    let for_client = |usage: &String| Usage::named(usage) == Some(Usage::ClientAuth);
    if !usages.iter().any(for_client) {
        let why = "it does not ask for the usage \"client auth\"".to_owned();
        return Err(("InvalidUsages", why));
    }
    Ok(())
}

fn read(pem: &[u8]) -> Result<Csr, Refusal> {
    let invalid = |why: String| ("InvalidRequest", why);
    if pem.len() > LARGEST {
        return Err(invalid(format!(
            "the request has more than {LARGEST} bytes"
        )));
    }
    if !is_one_request(pem) {
        let why = "the request must be one PEM block CERTIFICATE REQUEST without other text";
        return Err(invalid(why.to_owned()));
    }
    Csr::from_pem(pem).map_err(|error| {
        let mut why = shorten(&error.to_string(), LONGEST).into_owned();
        why.retain(is_plain);
        invalid(why)
    })
}

fn check_subject(csr: &Csr, expected: &Expected) -> Result<(), Refusal> {
    let invalid = |why: String| Err(("InvalidSubject", why));
    if !csr.has_plain_subject_with_units() {
        let why = "the subject must be one common name, organizations and organizational units, as UTF-8 or printable strings, and \
                   nothing else";
        return invalid(why.to_owned());
    }
    let Subject {
        user,
        groups,
        organization_units,
    } = &expected.subject;
    if csr.common_name() != user {
        let found = quoted(csr.common_name());
        return invalid(format!("the common name is {found}; expected is {user:?}"));
    }
    let is_extra = |group: &&String| !(expected.with_authenticated && *group == AUTHENTICATED);
    let organizations = csr.organizations().iter().filter(is_extra);
    if sorted(organizations) != sorted(groups) {
        return invalid(format!("the organizations are not {groups:?}"));
    }
    if sorted(csr.units()) != sorted(organization_units) {
        return invalid(format!(
            "the organizational units are not {organization_units:?}"
        ));
    }
    Ok(())
}

/// The agents of OCM and of Berth ask for one DNS name, which nobody uses.
fn check_alternative_names(csr: &Csr, addon: &str) -> Result<(), Refusal> {
    let name = format!("{addon}.addon.open-cluster-management.io");
    let names = csr.dns_names();
    if names.is_some_and(|names| names.iter().all(|it| *it == name)) {
        return Ok(());
    }
    let why = format!("it asks for subject alternative names other than the DNS name {name:?}");
    Err(("AlternativeNames", why))
}

fn sorted<'a>(all: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    let mut sorted: Vec<_> = all.into_iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted
}

/// A requester's text: escaped, and cut.
fn quoted(text: &str) -> String {
    format!("{:?}", shorten(text, LONGEST))
}
