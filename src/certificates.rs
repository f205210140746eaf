//! The flags of managed certificates, and what they come to: the gate reads the Secret, the controller keeps it.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use berth_certs::managed::{Observer, Policy};
use berth_certs_keeper::{Managed, Place, Registration, Settings};
use berth_hub::HubApi;
use berth_manifests::webhooks::WEBHOOKS;
use clap::ValueEnum;
use jiff::SignedDuration;

/// Where the gate's certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// Files in --certdir, which somebody else renews
    Folder,
    /// A Secret that the controller fills, renews and publishes
    Secret,
}

/// The flag of the gate.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    /// Where the certificate comes from: the files in --certdir, or a Secret that 'berth controller --keep-certificates' or
    /// 'berth hub' fills and renews
    #[arg(long, value_enum, default_value_t = Source::Folder, hide_possible_values = true, value_name = "folder|secret")]
    certificate_source: Source,
}

/// Which Secret it is.
#[derive(Debug, clap::Args)]
pub(crate) struct SecretArgs {
    /// The Secret of managed certificates, and the Lease of the process that keeps them
    #[arg(
        long,
        value_name = "NAME",
        default_value = "berth-webhook-certificates"
    )]
    certificate_secret: String,
    /// The namespace of both, and of the Service
    /// [default: the one this runs in, else open-cluster-management-hub]
    #[arg(long, value_name = "NAMESPACE")]
    certificate_namespace: Option<String>,
}

/// How the certificates of the Secret are kept.
#[derive(Debug, clap::Args)]
pub(crate) struct KeeperArgs {
    /// The Service that the registrations call; its name is in the kept certificate
    #[arg(
        long,
        value_name = "NAME",
        default_value = "cluster-manager-registration-webhook"
    )]
    certificate_service: String,
    /// More DNS names and IP addresses for the kept certificate
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    certificate_names: Vec<String>,
    /// How long a kept authority is valid
    #[arg(long, value_name = "DURATION", default_value = "8760h")]
    ca_validity: SignedDuration,
    /// How long a kept certificate is valid; it is renewed when a fifth is left
    #[arg(long, value_name = "DURATION", default_value = "720h")]
    leaf_validity: SignedDuration,
    /// How long a new authority is in all registrations before its certificate is served
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    ca_settle: SignedDuration,
}

/// The hub whose registrations are looked after.
pub(crate) struct OnHub {
    pub(crate) api: HubApi,
    /// Where the hub's components are.
    pub(crate) namespace: String,
}

// === impl SourceArgs ===

impl SourceArgs {
    /// Where the certificate comes from.
    pub(crate) fn source(&self) -> Source {
        self.certificate_source
    }
}

// === impl SecretArgs ===

impl SecretArgs {
    /// Where the Secret is; without a flag in this namespace.
    ///
    /// # Errors
    /// Names the flag, and what is wrong with its value.
    fn place(&self, namespace: &str) -> anyhow::Result<Place> {
        let namespace = match &self.certificate_namespace {
            Some(namespace) => valid("--certificate-namespace", namespace.clone(), "namespace")?,
            None => namespace.to_owned(),
        };
        let problems = berth_api::names::dns1123_subdomain(&self.certificate_secret);
        if !problems.is_empty() {
            bail!(
                "--certificate-secret: {:?} is no name of a Secret: {}",
                self.certificate_secret,
                problems.join("; ")
            );
        }
        Ok(Place {
            namespace,
            name: self.certificate_secret.clone(),
        })
    }

    /// The certificates of the Secret, to be served.
    ///
    /// # Errors
    /// Names the flag, and what is wrong with its value.
    pub(crate) fn read(&self, hub: OnHub, observer: Observer) -> anyhow::Result<Managed> {
        let place = self.place(&hub.namespace)?;
        Ok(Managed::reader(hub.api, place, observer))
    }
}

// === impl KeeperArgs ===

impl KeeperArgs {
    /// The certificates of the Secret, to be kept.
    ///
    /// # Errors
    /// Names the flags, and what is wrong with their values.
    pub(crate) fn keep(
        &self,
        secret: &SecretArgs,
        hub: OnHub,
        observer: Observer,
    ) -> anyhow::Result<Managed> {
        let place = secret.place(&hub.namespace)?;
        let service = &self.certificate_service;
        let service = valid("--certificate-service", service.clone(), "Service")?;
        let mut dns_names = vec![format!("{service}.{}.svc", place.namespace)];
        let mut ip_addresses = Vec::new();
        let names = self.certificate_names.iter().map(|name| name.trim());
        for name in names.filter(|name| !name.is_empty()) {
            match name.parse::<IpAddr>() {
                Ok(address) => ip_addresses.push(address),
                Err(_) => dns_names.push(name.to_owned()),
            }
        }
        let policy = Policy {
            dns_names,
            ip_addresses,
            ca_validity: positive("--ca-validity", self.ca_validity)?,
            leaf_validity: positive("--leaf-validity", self.leaf_validity)?,
            settle: positive("--ca-settle", self.ca_settle)?,
        };
        policy
            .validate()
            .context("--certificate-names, --ca-validity, --leaf-validity, --ca-settle")?;
        let registrations = WEBHOOKS.iter().map(|webhook| Registration {
            mutates: webhook.mutates,
            name: webhook.name.to_owned(),
        });
        let settings = Settings {
            identity: berth_lease::identity(),
            registrations: registrations.collect(),
            policy,
        };
        Ok(Managed::keeper(hub.api, place, settings, observer)?)
    }
}

fn valid(flag: &str, name: String, what: &str) -> anyhow::Result<String> {
    let problems = berth_api::names::dns1123_label(&name);
    if !problems.is_empty() {
        bail!("{flag}: {name:?} is no {what}: {}", problems.join("; "));
    }
    Ok(name)
}

fn positive(flag: &str, duration: SignedDuration) -> anyhow::Result<Duration> {
    Duration::try_from(duration).with_context(|| format!("{flag}: cannot be negative"))
}
