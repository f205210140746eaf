//! The flags of managed certificates. The gate reads the Secret, and the controller manages it.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use berth_certs::managed::{Observer, Policy};
use berth_hub::HubApi;
use berth_keeper::{Election, Managed, Place, Registration, RegistrationKind, Settings};
use berth_manifests::webhooks::WEBHOOKS;
use clap::ValueEnum;
use jiff::SignedDuration;

use crate::common::valid;
use crate::leading::Elections;

/// The CustomResourceDefinitions whose objects the gate converts, if they name it.
const CONVERTED: [&str; 2] = [
    "clustermanagementaddons.addon.open-cluster-management.io",
    "managedclusteraddons.addon.open-cluster-management.io",
];

/// The source of the gate's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// Files in --certdir, which another tool renews
    Folder,
    /// A Secret that the controller fills and renews
    Secret,
}

/// The flag `--certificate-source` of the gate.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    /// Source of the certificate: the files in --certdir, or a Secret that 'berth controller --keep-certificates' or 'berth
    /// hub' fills and renews
    #[arg(long, value_enum, default_value_t = Source::Folder, hide_possible_values = true, value_name = "folder|secret")]
    certificate_source: Source,
}

/// The flags that name the Secret.
#[derive(Debug, clap::Args)]
pub(crate) struct SecretArgs {
    /// Name of the Secret of managed certificates, and of the Lease of the process that manages them
    #[arg(
        long,
        value_name = "NAME",
        default_value = "berth-webhook-certificates"
    )]
    certificate_secret: String,
    /// Namespace of both, and of the Service
    /// [default: the namespace that this runs in, else open-cluster-management-hub]
    #[arg(long, value_name = "NAMESPACE")]
    certificate_namespace: Option<String>,
}

/// The flags of the process that manages the certificates.
#[derive(Debug, clap::Args)]
pub(crate) struct KeeperArgs {
    /// Service that the registrations call; the managed certificate contains its name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "cluster-manager-registration-webhook"
    )]
    certificate_service: String,
    /// Additional DNS names and IP addresses for the managed certificate
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    certificate_names: Vec<String>,
    /// Lifetime of a managed certificate authority
    #[arg(long, value_name = "DURATION", default_value = "8760h")]
    ca_validity: SignedDuration,
    /// Lifetime of a managed certificate; it is renewed when a fifth is left
    #[arg(long, value_name = "DURATION", default_value = "720h")]
    leaf_validity: SignedDuration,
    /// How long the registrations contain a new authority before its certificate is served
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    ca_settle: SignedDuration,
}

/// The hub of the Secret and the registrations.
pub(crate) struct OnHub {
    pub(crate) api: HubApi,
    /// The namespace of the hub's components.
    pub(crate) namespace: String,
}

// === impl SourceArgs ===

impl SourceArgs {
    /// Returns the source of the certificate.
    pub(crate) fn source(&self) -> Source {
        self.certificate_source
    }
}

// === impl SecretArgs ===

impl SecretArgs {
    /// Returns namespace and name of the Secret. `namespace` is the default.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    fn place(&self, namespace: &str) -> anyhow::Result<Place> {
        let namespace = match &self.certificate_namespace {
            Some(namespace) => valid("--certificate-namespace", namespace.clone(), "Namespace")?,
            None => namespace.to_owned(),
        };
        let problems = berth_api::names::dns1123_subdomain(&self.certificate_secret);
        if !problems.is_empty() {
            bail!(
                "--certificate-secret: {:?} is not a valid name of a Secret: {}",
                self.certificate_secret,
                problems.join("; ")
            );
        }
        Ok(Place {
            namespace,
            name: self.certificate_secret.clone(),
        })
    }

    /// Returns the certificates of the Secret, for a gate.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(crate) fn read(&self, hub: OnHub, observer: Observer) -> anyhow::Result<Managed> {
        let place = self.place(&hub.namespace)?;
        Ok(Managed::reader(hub.api, place, observer))
    }
}

// === impl KeeperArgs ===

impl KeeperArgs {
    /// Returns the certificates of the Secret, for the process that manages them.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(crate) fn keep(
        &self,
        secret: &SecretArgs,
        hub: OnHub,
        elections: &Elections,
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
        let webhooks = WEBHOOKS.iter().map(|webhook| Registration {
            kind: match webhook.mutates {
                true => RegistrationKind::Mutating,
                false => RegistrationKind::Validating,
            },
            name: webhook.name.to_owned(),
        });
        let conversions = CONVERTED.map(|name| Registration {
            kind: RegistrationKind::Conversion,
            name: name.to_owned(),
        });
        let settings = Settings {
            identity: berth_lease::identity(None).name().to_owned(),
            registrations: webhooks.chain(conversions).collect(),
            policy,
        };
        let (on, elections) = elections.on();
        let election = Election { on, hub: elections };
        Ok(Managed::keeper(
            hub.api, place, settings, election, observer,
        )?)
    }
}

fn positive(flag: &str, duration: SignedDuration) -> anyhow::Result<Duration> {
    Duration::try_from(duration).with_context(|| format!("{flag}: cannot be negative"))
}
