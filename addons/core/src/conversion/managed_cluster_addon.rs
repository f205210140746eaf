//! ManagedClusterAddOns.
//!
//! v1beta1 has an annotation for `spec.installNamespace`, a type for each registration, and a driver for each registration.

use std::borrow::Cow;

use berth_api::agents::API_SERVER;
use berth_api::labels::ADDON_INSTALL_NAMESPACE;

use super::fields::{Fields, Problem};

/// The type of a registration at the hub's API server.
const KUBE_CLIENT: &str = "kubeClient";
/// The type of any other registration.
const CUSTOM_SIGNER: &str = "customSigner";

/// The organization units of a subject in v1alpha1 and in v1beta1.
const UNITS: (&str, &str) = ("organizationUnit", "organizationUnits");

pub(super) fn to_v1beta1(object: &mut Fields<'_>) -> Result<(), Problem> {
    let mut namespace = None;
    object.edit("spec", |spec| {
        namespace = spec.take_text("installNamespace")?;
        Ok(())
    })?;
    if let Some(namespace) = namespace {
        within(object, "metadata", |metadata| {
            within(metadata, "annotations", |annotations| {
                annotations.set_text(ADDON_INSTALL_NAMESPACE, &namespace);
                Ok(())
            })
        })?;
    }
    object.edit("status", |status| {
        status.take("addOnConfiguration");
        let driver = status.take_text("kubeClientDriver")?;
        status.edit_items("registrations", |it| with_type(it, driver.as_deref()))?;
        // Copies of desiredConfig.
        status.edit_items("configReferences", |reference| {
            reference.take("name");
            reference.take("namespace");
            Ok(())
        })
    })
}

pub(super) fn to_v1alpha1(object: &mut Fields<'_>) -> Result<(), Problem> {
    let mut namespace = None;
    object.edit("metadata", |metadata| {
        let mut is_empty = false;
        metadata.edit("annotations", |annotations| {
            let has = annotations.text(ADDON_INSTALL_NAMESPACE)?.is_some();
            namespace = annotations.take_text(ADDON_INSTALL_NAMESPACE)?;
            is_empty = has && annotations.is_empty();
            Ok(())
        })?;
        if is_empty {
            metadata.take("annotations");
        }
        Ok(())
    })?;
    if let Some(namespace) = namespace {
        within(object, "spec", |spec| {
            spec.set_text("installNamespace", &namespace);
            Ok(())
        })?;
    }
    object.edit("status", |status| {
        status.take("kubeClientDriver");
        let mut driver = None;
        status.edit_items("registrations", |it| {
            let found = with_signer(it)?;
            driver = driver.take().or(found);
            Ok(())
        })?;
        if let Some(driver) = driver.filter(|driver| !driver.is_empty()) {
            status.set_text("kubeClientDriver", &driver);
        }
        status.edit_items("configReferences", with_copy)
    })
}

/// Changes the object of a field, which is made if it is absent.
fn within(
    object: &mut Fields<'_>,
    name: &'static str,
    edit: impl FnOnce(&mut Fields<'_>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    if object.object(name)?.is_none() {
        object.set(name, "{}");
    }
    object.edit(name, edit)
}

/// A registration of v1alpha1, which has a signer, gets its type.
fn with_type(registration: &mut Fields<'_>, driver: Option<&str>) -> Result<(), Problem> {
    let signer = registration.text("signerName")?;
    let of_type = if signer.as_deref() == Some(API_SERVER) {
        registration.edit("subject", |subject| {
            subject.take(UNITS.0);
            Ok(())
        })?;
        KUBE_CLIENT
    } else {
        registration.edit("subject", |subject| {
            subject.rename(UNITS.0, UNITS.1);
            Ok(())
        })?;
        CUSTOM_SIGNER
    };
    let mut settings = Fields::default();
    if let Some(subject) = registration.take("subject") {
        settings.set("subject", subject);
    }
    match (of_type, driver, signer) {
        (KUBE_CLIENT, Some(driver), _) => settings.set_text("driver", driver),
        (CUSTOM_SIGNER, _, Some(signer)) => settings.set_text("signerName", &signer),
        _ => {}
    }
    let settings = settings.to_json();
    for field in ["signerName", KUBE_CLIENT, CUSTOM_SIGNER] {
        registration.take(field);
    }
    registration.set_text("type", of_type);
    registration.set(of_type, settings);
    Ok(())
}

/// A registration of v1beta1, which has a type, gets its signer. Returns the driver of a registration at the hub's API server, which may
/// be empty.
fn with_signer(registration: &mut Fields<'_>) -> Result<Option<String>, Problem> {
    let is_kube_client = registration.take_text("type")?.as_deref() == Some(KUBE_CLIENT);
    let (mut signer, mut subject, mut driver) = (None, None, None);
    if is_kube_client {
        signer = Some(API_SERVER.to_owned());
        registration.edit(KUBE_CLIENT, |client| {
            driver = Some(client.take_text("driver")?.unwrap_or_default());
            subject = client.object("subject")?.map(|it| it.to_json());
            Ok(())
        })?;
    } else {
        registration.edit(CUSTOM_SIGNER, |custom| {
            signer = custom.text("signerName")?;
            custom.edit("subject", |subject| {
                subject.rename(UNITS.1, UNITS.0);
                Ok(())
            })?;
            subject = custom.take("subject").map(Cow::into_owned);
            Ok(())
        })?;
    }
    for field in [KUBE_CLIENT, CUSTOM_SIGNER, "subject"] {
        registration.take(field);
    }
    registration.set_text("signerName", &signer.unwrap_or_default());
    if let Some(subject) = subject {
        registration.set("subject", subject);
    }
    Ok(driver)
}

/// A config of v1beta1 gets the copy of its desired name that v1alpha1 has.
fn with_copy(reference: &mut Fields<'_>) -> Result<(), Problem> {
    let desired = reference.object("desiredConfig")?;
    let mut copies = Vec::new();
    for field in ["name", "namespace"] {
        let text = desired.as_ref().map(|it| it.text(field)).transpose();
        let text = text.map_err(|problem| problem.under("desiredConfig"))?;
        copies.push((field, text.flatten()));
    }
    for (field, text) in copies {
        reference.take(field);
        if let Some(text) = text {
            reference.set_text(field, &text);
        }
    }
    Ok(())
}
