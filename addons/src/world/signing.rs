//! Reads the certificate authority that a template names, and signs with it.

use berth_addons_core::registration::{remedies, signing};
use berth_api::GroupVersionResource;
use berth_api::addon::SigningCaReference;
use berth_api::certificate_request::CertificateRequest;
use berth_api::plan::{Target, Write};
use berth_reconcile::{Handle, now};
use k8s_openapi::api::core::v1::Secret;

use super::AddOns;

/// Why a certificate authority cannot be used: one of a few reasons for metrics, and a text for users. Users have to mend it.
pub(super) type Fault = (&'static str, String);

/// Returns the write that issues the certificate of a request. The Secret is read by its name, each time: it may be rotated.
///
/// # Errors
/// The authority cannot be used.
pub(super) async fn sign(
    on: &Handle<AddOns>,
    request: &CertificateRequest,
    ca: &SigningCaReference,
    account: impl Future<Output = String>,
) -> Result<Write, Fault> {
    let namespace = match &*ca.namespace {
        "" => on.world().view.namespace().to_owned(),
        namespace => namespace.to_owned(),
    };
    let secret = &ca.name;
    if secret.is_empty() {
        let why = "its template names no Secret in signingCA".to_owned();
        return Err(("CaMissing", why));
    }
    let target = Target {
        resource: GroupVersionResource::new("", "v1", "secrets"),
        namespace: Some(namespace.clone()),
        name: secret.clone(),
    };
    let name = format!("Secret {namespace}/{secret}");
    let stored = match on.writer(0).read(&target).await {
        Ok((object, _)) => object,
        Err(refusal) if refusal.is_absent => {
            let why = format!(
                "{name} of its signer does not exist; create it, of type kubernetes.io/tls"
            );
            return Err(("CaMissing", why));
        }
        Err(refusal) if refusal.code == 403 => {
            let account = account.await;
            let why = remedies::of_secret(&namespace, secret, &account);
            return Err(("CaForbidden", why));
        }
        Err(refusal) => {
            let why = format!("{name} cannot be read: {}", refusal.message);
            return Err(("CaUnreadable", why));
        }
    };
    // The error is not shown: it may quote what is in the Secret.
    let stored: Secret = stored
        .parse()
        .map_err(|_| ("CaInvalid", format!("{name} cannot be read")))?;
    signing::sign(request, &stored, &name, now().wall).map_err(|why| ("CaInvalid", why))
}
