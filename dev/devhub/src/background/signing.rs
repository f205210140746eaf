//! The signer `kubernetes.io/kube-apiserver-client`: approved requests get a certificate of the hub's client CA.
//!
//! A request that cannot be signed gets the condition `Failed`. Requests for other signers are ignored. A request that has a
//! certificate is not signed again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_certs::csr::Usage;
use berth_certs::issue::Authority;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::World;
use crate::object::{self, Object};
use crate::resources::builtin::certificates::{CLIENT_SIGNER, request};
use crate::storage::{Key, StorageId, Stored};

/// Where requests are.
const STORAGE: &str = "certificatesigningrequests.certificates.k8s.io";
/// No certificate counts for longer.
const MAX_VALIDITY: Duration = Duration::from_secs(365 * 24 * 3600);
const MIN_VALIDITY: Duration = Duration::from_secs(600);
/// Validity begins a little before now, for clocks that are behind. Of a validity this long that is a part of it, as in
/// kube-controller-manager; a shorter one has it on top.
const LONG_VALIDITY: Duration = Duration::from_secs(8 * 3600);
const BACKDATE: Duration = Duration::from_secs(5 * 60);

/// Signs until cancelled. The first certificates have these validities, whatever is asked for.
pub(super) async fn run(
    world: Arc<World>,
    first_validities: Vec<Duration>,
    cancel: CancellationToken,
) {
    tokio::select! {
        () = cancel.cancelled() => {}
        () = follow(&world, first_validities.into()) => {}
    }
}

async fn follow(world: &World, mut first: VecDeque<Duration>) {
    let storage = StorageId(STORAGE.into());
    loop {
        let listed = world.store.all(&storage, None);
        for stored in &listed.items {
            handle(world, stored, &mut first);
        }
        let Ok(mut watch) = world.store.watch(&storage, listed.revision) else {
            continue;
        };
        // Until it falls behind the history.
        while let Ok(events) = watch.next().await {
            for event in &events {
                handle(world, &event.object, &mut first);
            }
        }
    }
}

/// Signs one request, if it is to be signed. If it was changed meanwhile, its event calls this again.
fn handle(world: &World, stored: &Stored, first: &mut VecDeque<Duration>) {
    let Some(outcome) = outcome(
        &stored.object,
        world.authenticator.client_ca(),
        first.front().copied(),
        Timestamp::now(),
    ) else {
        return;
    };
    let is_signed = !outcome.str_at(&["status", "certificate"]).is_empty();
    let key = Key::new(STORAGE, "", stored.object.name());
    let updated = world.store.update(&key, stored.revision, outcome);
    if is_signed && updated.is_ok() {
        first.pop_front();
    }
}

/// The request with a certificate, or failed; `None` if there is nothing to do. `fixed`: the validity of
/// the certificate, whatever the request asks for.
fn outcome(
    csr: &Object,
    authority: &Authority,
    fixed: Option<Duration>,
    now: Timestamp,
) -> Option<Object> {
    let signed = !csr.str_at(&["status", "certificate"]).is_empty();
    if csr.str_at(&["spec", "signerName"]) != CLIENT_SIGNER
        || signed
        || !has(csr, "Approved")
        || has(csr, "Denied")
        || has(csr, "Failed")
    {
        return None;
    }
    let mut outcome = csr.clone();
    match sign(csr, authority, fixed, now) {
        Ok(pem) => outcome.set(&["status", "certificate"], BASE64_STANDARD.encode(pem)),
        Err(why) => {
            let time = object::time(now);
            let mut conditions = conditions(csr).to_vec();
            conditions.push(json!({
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": why,
                "lastUpdateTime": time,
                "lastTransitionTime": time,
            }));
            outcome.set(&["status", "conditions"], conditions);
        }
    }
    Some(outcome)
}

fn conditions(csr: &Object) -> &[Value] {
    csr.items(&["status", "conditions"])
}

fn has(csr: &Object, r#type: &str) -> bool {
    conditions(csr)
        .iter()
        .any(|condition| condition["type"] == r#type && condition["status"] == "True")
}

fn sign(
    csr: &Object,
    authority: &Authority,
    fixed: Option<Duration>,
    now: Timestamp,
) -> Result<String, String> {
    let usages = usages(csr)?;
    let seconds = csr
        .at(&["spec", "expirationSeconds"])
        .and_then(Value::as_u64);
    let validity = fixed.unwrap_or_else(|| validity(seconds.map(Duration::from_secs)));
    let request = request(csr).map_err(|error| error.to_string())?;
    authority
        .sign(&request, &usages, validity, now)
        .map_err(|error| error.to_string())
}

/// In kube-controller-manager's words.
fn usages(csr: &Object) -> Result<Vec<Usage>, String> {
    let names = csr.texts(&["spec", "usages"]).into_iter();
    let usages = names.map(|name| {
        Usage::named(name).ok_or_else(|| format!("invalid usage for client certificate: {name}"))
    });
    let usages: Vec<Usage> = usages.collect::<Result<_, _>>()?;
    if !usages.contains(&Usage::ClientAuth) {
        return Err("missing required usage for client certificate: client auth".to_owned());
    }
    Ok(usages)
}

fn validity(wanted: Option<Duration>) -> Duration {
    let validity = wanted
        .unwrap_or(MAX_VALIDITY)
        .clamp(MIN_VALIDITY, MAX_VALIDITY);
    if validity < LONG_VALIDITY {
        validity
    } else {
        validity - BACKDATE
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rcgen::{CertificateParams, DnType, KeyPair};
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;

    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

    fn csr(usages: &[&str], conditions: &[&str]) -> Object {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "agent");
        let request = params.serialize_request(&KeyPair::generate().unwrap());
        let conditions: Vec<_> = conditions
            .iter()
            .map(|r#type| json!({ "type": r#type, "status": "True" }))
            .collect();
        let value = json!({
            "metadata": { "name": "c" },
            "spec": {
                "request": BASE64_STANDARD.encode(request.unwrap().pem().unwrap()),
                "signerName": CLIENT_SIGNER,
                "usages": usages,
            },
            "status": { "conditions": conditions },
        });
        Object::try_from(value).unwrap()
    }

    fn with(mut object: Object, path: &[&str], value: impl Into<Value>) -> Object {
        object.set(path, value);
        object
    }

    #[test]
    fn only_approved_requests_for_this_signer_are_its_business() {
        let now = Timestamp::now();
        let authority = Authority::new("clients", 2 * YEAR, now).unwrap();
        let usages = ["client auth"];
        let approved = || csr(&usages, &["Approved"]);
        let rows = [
            ("approved", approved(), true),
            ("not decided", csr(&usages, &[]), false),
            ("denied", csr(&usages, &["Denied"]), false),
            ("failed", csr(&usages, &["Approved", "Failed"]), false),
            (
                "signed",
                with(approved(), &["status", "certificate"], "eA=="),
                false,
            ),
            (
                "somebody else's",
                with(approved(), &["spec", "signerName"], "example.com/signer"),
                false,
            ),
        ];
        for (sentence, csr, expected) in rows {
            let outcome = outcome(&csr, &authority, None, now);
            assert_eq!(outcome.is_some(), expected, "{sentence}");
        }
    }

    #[test]
    fn a_certificate_counts_as_long_as_was_asked_for_and_a_year_at_most() {
        let now = Timestamp::now();
        let authority = Authority::new("clients", 2 * YEAR, now).unwrap();
        let short = Duration::from_secs(80);
        let rows = [
            (None, None, YEAR - BACKDATE),
            (Some(600), None, Duration::from_secs(600)),
            (Some(3600), None, Duration::from_secs(3600)),
            (
                Some(10 * 3600),
                None,
                Duration::from_secs(10 * 3600) - BACKDATE,
            ),
            (Some(400 * 24 * 3600), None, YEAR - BACKDATE),
            (Some(3600), Some(short), short),
        ];
        for (seconds, fixed, expected) in rows {
            let mut csr = csr(&["client auth", "digital signature"], &["Approved"]);
            if let Some(seconds) = seconds {
                csr.set(&["spec", "expirationSeconds"], seconds);
            }
            let signed = outcome(&csr, &authority, fixed, now).unwrap();
            assert_eq!(left(&signed, now), expected, "{seconds:?}");
        }
    }

    /// How long the certificate is still valid.
    fn left(signed: &Object, now: Timestamp) -> Duration {
        let pem = BASE64_STANDARD.decode(signed.str_at(&["status", "certificate"]));
        let der = CertificateDer::from_pem_slice(&pem.unwrap()).unwrap();
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        let left = certificate.validity().not_after.timestamp() - now.as_second();
        Duration::from_secs(left.try_into().unwrap())
    }

    #[test]
    fn the_first_certificates_have_the_validities_of_the_options() {
        let world = crate::background::testing::world();
        let mut first = VecDeque::from([Duration::from_secs(80)]);
        for (name, is_first) in [("a", true), ("b", false)] {
            let key = Key::new(STORAGE, "", name);
            let mut csr = csr(&["client auth"], &["Approved"]);
            csr.set(&["metadata", "name"], name);
            world.store.create(&key, csr).unwrap();
            handle(&world, &world.store.get(&key).unwrap(), &mut first);
            let signed = world.store.get(&key).unwrap();
            let left = left(&signed.object, Timestamp::now());
            assert_eq!(left <= Duration::from_secs(80), is_first, "{left:?}");
        }
    }

    #[test]
    fn what_cannot_be_signed_fails_and_says_why() {
        let now = Timestamp::now();
        let authority = Authority::new("clients", YEAR, now).unwrap();
        let rows = [
            (
                &["client auth", "server auth"][..],
                "invalid usage for client certificate: server auth",
            ),
            (
                &["digital signature"],
                "missing required usage for client certificate: client auth",
            ),
        ];
        for (usages, words) in rows {
            let failed = outcome(&csr(usages, &["Approved"]), &authority, None, now).unwrap();
            assert!(has(&failed, "Failed"));
            let failure = conditions(&failed).last().unwrap();
            assert_eq!(failure["message"], words);
            assert_eq!(failure["reason"], "SignerValidationFailure");
            assert_eq!(outcome(&failed, &authority, None, now), None, "once");
        }
    }
}
