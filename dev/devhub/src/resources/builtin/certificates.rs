//! The behaviour of CertificateSigningRequests: the hub sets the requester, the spec is immutable, and approval and certificate
//! are written by different subresources.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_certs::csr::{Csr, CsrError};
use berth_rbac::Request;
use jiff::Timestamp;
use rustls::pki_types::pem::{PemObject, SectionKind};
use serde_json::{Map, Value, json};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::fields::{duplicate, each_invalid, not_supported};
use crate::object::{self, Object, text_at as text};
use crate::resources::{Behaviour, WriteTo};
use crate::status::{ApiError, FieldError};

/// Certificates that the hub itself takes from clients.
pub(crate) const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const MIN_SECONDS: i64 = 600;

const USAGES: &str = "any,cert sign,client auth,code signing,content commitment,crl sign,data encipherment,decipher only,\
    digital signature,email protection,encipher only,ipsec end system,ipsec tunnel,ipsec user,key agreement,key encipherment,\
    microsoft sgc,netscape sgc,ocsp signing,s/mime,server auth,signing,timestamping";

/// CertificateSigningRequests.
#[derive(Debug)]
pub(crate) struct Certificates;

impl Behaviour for Certificates {
    fn prepare(&self, write: &WriteTo<'_>, object: &mut Object) {
        let Some(old) = write.old else {
            set_requester(write, object);
            object.set(&["status"], Map::new());
            return;
        };
        object.put_back(old, &["spec"]);
        match write.subresource {
            "status" => {
                keep_decisions(object, old);
                set_times(object, old, write.now);
            }
            "approval" => {
                let conditions = object.remove(&["status", "conditions"]);
                object.put_back(old, &["status"]);
                if let Some(conditions) = conditions {
                    object.set(&["status", "conditions"], conditions);
                } else {
                    object.remove(&["status", "conditions"]);
                }
                set_times(object, old, write.now);
            }
            _ => object.put_back(old, &["status"]),
        }
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        let mut errors = Vec::new();
        // The stored spec has been checked, and does not change.
        if write.old.is_none() {
            errors.extend(spec_errors(object));
        }
        errors.extend(condition_errors(object));
        if let Some(old) = write.old {
            errors.extend(certificate_error(object, old));
            errors.extend(change_errors(object, old, write.subresource));
        }
        errors
    }

    fn authorize(&self, write: &WriteTo<'_>, object: &Object) -> Result<(), ApiError> {
        let signer = object.str_at(&["spec", "signerName"]);
        let refused = match (write.old, write.subresource) {
            (None, _) if asks_for_everything(object) => Some(format!(
                "use of {CLIENT_SIGNER} signer with system:masters group is not allowed"
            )),
            (Some(_), "approval") if !may(write, "approve", signer) => Some(format!(
                "user not permitted to approve requests with signerName {signer:?}"
            )),
            (Some(old), "status")
                if (certificate(object) != certificate(old)
                    || conditions(object) != conditions(old))
                    && !may(write, "sign", signer) =>
            {
                Some(format!(
                    "user not permitted to sign requests with signerName {signer:?}"
                ))
            }
            _ => None,
        };
        match refused {
            None => Ok(()),
            Some(why) => Err(write.resource.forbidden(&write.key.name, &why)),
        }
    }
}

/// The request in `spec.request`.
///
/// # Errors
/// `spec.request` is not base64, or not a CSR in PEM.
pub(crate) fn request(object: &Object) -> Result<Csr, CsrError> {
    let pem = BASE64_STANDARD.decode(object.str_at(&["spec", "request"]));
    Csr::from_pem(&pem.map_err(|_| CsrError::NoRequest)?)
}

fn set_requester(write: &WriteTo<'_>, object: &mut Object) {
    for field in ["username", "uid", "groups", "extra"] {
        object.remove(&["spec", field]);
    }
    let requester = write.user.map(|user| json!(user)).unwrap_or_default();
    for (field, value) in requester.as_object().into_iter().flatten() {
        object.set(&["spec", field], value.clone());
    }
}

fn conditions(object: &Object) -> &[Value] {
    object.items(&["status", "conditions"])
}

fn certificate(object: &Object) -> &str {
    object.str_at(&["status", "certificate"])
}

/// The conditions of a type.
fn of_type<'a>(object: &'a Object, r#type: &str) -> Vec<&'a Value> {
    let conditions = conditions(object).iter();
    conditions
        .filter(|condition| text(condition, "type") == r#type)
        .collect()
}

/// A write of the status does not change the text of a decision.
fn keep_decisions(object: &mut Object, old: &Object) {
    for decision in ["Approved", "Denied"] {
        let were: Vec<_> = of_type(old, decision).into_iter().cloned().collect();
        if were.len() != of_type(object, decision).len() {
            // An error, which validation tells.
            continue;
        }
        let mut were = were.into_iter();
        for condition in conditions_mut(object) {
            if text(condition, "type") == decision
                && let Some(was) = were.next()
            {
                *condition = was;
            }
        }
    }
}

fn conditions_mut(object: &mut Object) -> impl Iterator<Item = &mut Value> {
    let status = object.fields_mut().get_mut("status");
    let conditions = status.and_then(|status| status.get_mut("conditions"));
    conditions
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

fn set_times(object: &mut Object, old: &Object, now: Timestamp) {
    let now = object::time(now);
    for condition in conditions_mut(object) {
        let missing = |field| text(condition, field).is_empty();
        let (no_update, no_transition) = (missing("lastUpdateTime"), missing("lastTransitionTime"));
        let same = |was: &&Value| {
            ["type", "status"]
                .iter()
                .all(|field| was[*field] == condition[*field])
        };
        let since = conditions(old)
            .iter()
            .filter(same)
            .map(|was| text(was, "lastTransitionTime"))
            .find(|time| !time.is_empty())
            .unwrap_or(&now)
            .to_owned();
        let Some(fields) = condition.as_object_mut() else {
            continue;
        };
        if no_update {
            fields.insert("lastUpdateTime".into(), now.clone().into());
        }
        if no_transition {
            fields.insert("lastTransitionTime".into(), since.into());
        }
    }
}

fn spec_errors(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Err(error) = request(object) {
        let sent = object.str_at(&["spec", "request"]);
        errors.push(FieldError::invalid("spec.request", sent, error.to_string()));
    }
    let usages = object.texts(&["spec", "usages"]);
    if usages.is_empty() {
        errors.push(FieldError::required("spec.usages", ""));
    }
    let known: Vec<&str> = USAGES.split(',').collect();
    for (index, usage) in usages.iter().enumerate() {
        let at = format!("spec.usages[{index}]");
        if !known.contains(usage) {
            errors.push(not_supported(at, *usage, &known));
        } else if usages[..index].contains(usage) {
            errors.push(duplicate(at, *usage));
        }
    }
    errors.extend(signer_name_errors(object.str_at(&["spec", "signerName"])));
    let seconds = object
        .at(&["spec", "expirationSeconds"])
        .and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|&seconds| seconds < MIN_SECONDS) {
        let words = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(FieldError::invalid(
            "spec.expirationSeconds",
            seconds,
            words,
        ));
    }
    errors
}

fn signer_name_errors(name: &str) -> Vec<FieldError> {
    let field = "spec.signerName";
    if name == LEGACY_SIGNER {
        let words = "the legacy signerName is not allowed via this API version";
        return vec![FieldError::invalid(field, name, words)];
    }
    if name.is_empty() {
        return vec![FieldError::required(field, "")];
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, path] = parts[..] else {
        let words =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![FieldError::invalid(field, name, words)];
    };
    let mut wrong = berth_api::names::dns1123_subdomain(domain);
    if !domain.contains('.') {
        wrong.push("should be a domain with at least two segments separated by dots".to_owned());
    }
    wrong.extend(berth_api::names::dns1123_subdomain(path));
    each_invalid(field, name, wrong)
}

fn condition_errors(object: &Object) -> Vec<FieldError> {
    let path = "status.conditions";
    let mut errors = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (index, condition) in conditions(object).iter().enumerate() {
        let (r#type, status) = (text(condition, "type"), text(condition, "status"));
        if r#type.is_empty() {
            errors.push(FieldError::required(format!("{path}[{index}].type"), ""));
        }
        let allowed: &[&str] = match r#type {
            "Approved" | "Denied" | "Failed" => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        let at = format!("{path}[{index}].status");
        if status.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if !allowed.contains(&status) {
            errors.push(not_supported(at, status, allowed));
        }
        let opposite = match r#type {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !opposite.is_empty() && seen.contains(&opposite) {
            let words = "Approved and Denied conditions are mutually exclusive";
            errors.push(FieldError::invalid(path, r#type, words));
        }
        if seen.contains(&r#type) {
            errors.push(duplicate(format!("{path}[{index}].type"), r#type));
        }
        seen.push(r#type);
    }
    errors
}

/// A certificate that was not there before is one.
fn certificate_error(object: &Object, old: &Object) -> Option<FieldError> {
    let new = certificate(object);
    if new.is_empty() || new == certificate(old) {
        return None;
    }
    let problem = match BASE64_STANDARD.decode(new) {
        Ok(pem) => certificate_problem(&pem)?,
        Err(error) => error.to_string(),
    };
    let hidden = "<certificate data>";
    Some(FieldError::invalid("status.certificate", hidden, problem))
}

fn certificate_problem(pem: &[u8]) -> Option<String> {
    let blocks: Vec<_> = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem)
        .map_while(Result::ok)
        .collect();
    let is_certificate = |(kind, der): &(SectionKind, Vec<u8>)| {
        *kind == SectionKind::Certificate && X509Certificate::from_der(der).is_ok()
    };
    let is_fine = !blocks.is_empty() && blocks.iter().all(is_certificate);
    (!is_fine).then(|| "must be CERTIFICATE PEM blocks, and at least one".to_owned())
}

/// Decisions are not taken back, and each is written where it belongs.
fn change_errors(object: &Object, old: &Object, subresource: &str) -> Vec<FieldError> {
    let count = |object, r#type| of_type(object, r#type).len();
    let mut errors = Vec::new();
    for r#type in ["Approved", "Denied", "Failed"] {
        if count(object, r#type) < count(old, r#type) {
            let words = format!("updates may not remove a condition of type {type:?}");
            errors.push(FieldError::forbidden("status.conditions", words));
        }
    }
    if subresource != "approval" {
        for r#type in ["Approved", "Denied"] {
            if count(object, r#type) > count(old, r#type) {
                let words = format!("updates may not add a condition of type {type:?}");
                errors.push(FieldError::forbidden("status.conditions", words));
            }
        }
    }
    if certificate(object) != certificate(old) {
        let words = match (subresource, certificate(old)) {
            ("status", "") => return errors,
            ("status", _) => "updates may not modify existing certificate content",
            _ => "updates may not set certificate content",
        };
        errors.push(FieldError::forbidden("status.certificate", words));
    }
    errors
}

/// Returns true for a request of `system:masters`: no certificate of the hub makes a superuser.
fn asks_for_everything(object: &Object) -> bool {
    object.str_at(&["spec", "signerName"]) == CLIENT_SIGNER
        && request(object).is_ok_and(|csr| {
            csr.organizations()
                .iter()
                .any(|group| group == "system:masters")
        })
}

/// Returns true if the writer may `verb` for this signer, or for all of its domain.
fn may(write: &WriteTo<'_>, verb: &str, signer: &str) -> bool {
    let Some(user) = write.user else {
        return true;
    };
    let domain = signer.split('/').next().unwrap_or_default();
    let all = format!("{domain}/*");
    let world = write.world;
    [signer, &all].iter().any(|name| {
        let request = Request::Resource {
            verb,
            api_group: "certificates.k8s.io",
            resource: "signers",
            subresource: "",
            name,
            namespace: "",
        };
        let verdict = world.authorizer.evaluate(&world.store, user, &request);
        verdict.is_allowed()
    })
}
