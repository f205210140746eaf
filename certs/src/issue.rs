//! A certificate authority and the certificates that it issues: for [`managed`](crate::managed) certificates,
//! `--self-signed`, the hub for development, and tests.
//!
//! Keys are ECDSA P-256; an authority that another program made may have a key of another kind. Promises: a certificate does not outlive its authority; serial numbers are random; a certificate has
//! only the key usages that it needs; its validity begins five minutes before `now`, for clients whose clock is slow.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::DnsName;

use crate::csr::{Csr, Usage};
use crate::pem::certificate_pem;
use crate::subject::{name, sign_as};

mod stored;

/// The file of a folder that holds the authority's certificate.
const CA_FILE: &str = "ca.crt";
/// The file of a folder that holds the certificate.
pub(crate) const CERTIFICATE_FILE: &str = "tls.crt";
/// The file of a folder that holds the private key.
pub(crate) const KEY_FILE: &str = "tls.key";
/// The time from the begin of the validity to `now`.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);
/// The maximum length of a common name in X.509, in characters (RFC 5280, `ub-common-name`).
const MAX_COMMON_NAME: usize = 64;

/// A certificate authority: a certificate and its private key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
    common_name: String,
    /// The subject, DER.
    name: Vec<u8>,
    not_before: Timestamp,
    not_after: Timestamp,
}

/// A certificate that an [`Authority`] issued, with its private key.
#[derive(Clone)]
pub struct Issued {
    /// The certificate, PEM.
    pub certificate_pem: String,
    /// The private key, PKCS #8 in PEM.
    pub key_pem: String,
    /// The authority's certificate, PEM.
    pub ca_pem: String,
    /// The first moment it is valid.
    pub not_before: Timestamp,
    /// The last moment it is valid.
    pub not_after: Timestamp,
}

/// Why a certificate was not issued or not written.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The authority is no longer valid.
    #[error("certificate authority {common_name:?} expired on {not_after}; make a new one")]
    AuthorityExpired {
        /// Its common name.
        common_name: String,
        /// The last moment of its validity.
        not_after: Timestamp,
    },
    /// Not a DNS name.
    #[error("{0:?} is not a DNS name, and no certificate can be issued for it; correct the name")]
    InvalidDnsName(String),
    /// A common name is required, and is empty.
    #[error("the common name is empty; give the name of the certificate's owner")]
    EmptyCommonName,
    /// Key generation, random numbers or signing failed.
    #[error("certificate for {subject:?} could not be made: {reason}")]
    Cryptography {
        /// The subject of the certificate.
        subject: String,
        /// The cause.
        reason: String,
    },
    /// A file could not be written.
    #[error("{} cannot be written; check that the folder is writable", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

// === impl Authority ===

impl Authority {
    /// Makes a root that may sign leaf certificates, but not other authorities.
    ///
    /// # Errors
    /// An empty common name, or a failure of the cryptography.
    pub fn new(common_name: &str, validity: Duration, now: Timestamp) -> Result<Self, IssueError> {
        if common_name.is_empty() {
            return Err(IssueError::EmptyCommonName);
        }
        let failed = |error| cryptography(common_name, error);
        let (not_before, not_after) = (start(now), end(now, validity));
        let mut params = params(not_before, not_after, common_name)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate_pem = params.self_signed(&key).map_err(failed)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate_pem,
            name: name(common_name, &[]),
            common_name: common_name.to_owned(),
            not_before,
            not_after,
        })
    }

    /// Returns the authority's certificate, PEM, which clients must trust.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Returns the last moment the authority is valid.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Issues a serving certificate for names and addresses, valid for `validity` or until the authority expires.
    ///
    /// # Errors
    /// An expired authority, an invalid name, or a failure of the cryptography.
    pub fn leaf(
        &self,
        dns_names: &[&str],
        ip_addresses: &[IpAddr],
        validity: Duration,
        now: Timestamp,
    ) -> Result<Issued, IssueError> {
        let subject = dns_names.first().copied().unwrap_or("an address");
        let (mut params, not_before, not_after) = self.params(subject, validity, now)?;
        params.subject_alt_names = alternative_names(dns_names)?;
        params
            .subject_alt_names
            .extend(ip_addresses.iter().copied().map(SanType::IpAddress));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // For admins who inspect the certificate: clients use the alternative names, and the name of a Service in a
        // namespace with a long name does not fit.
        if let Some(name) = dns_names
            .first()
            .filter(|name| name.len() <= MAX_COMMON_NAME)
        {
            params.distinguished_name.push(DnType::CommonName, *name);
        }
        let failed = |error| cryptography(subject, error);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(self.issued(certificate.der(), &key, not_before, not_after))
    }

    /// Issues a client certificate: to Kubernetes, the user `common_name` in the groups `organizations`.
    ///
    /// # Errors
    /// An expired authority, an empty or malformed name, or a failure of the cryptography.
    pub fn client(
        &self,
        common_name: &str,
        organizations: &[&str],
        dns_names: &[&str],
        validity: Duration,
        now: Timestamp,
    ) -> Result<Issued, IssueError> {
        if common_name.is_empty() {
            return Err(IssueError::EmptyCommonName);
        }
        let (mut params, not_before, not_after) = self.params(common_name, validity, now)?;
        params.subject_alt_names = alternative_names(dns_names)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let failed = |error| cryptography(common_name, error);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = sign_as(
            params,
            &name(common_name, organizations),
            &key,
            &self.issuer,
            &self.name,
        )
        .map_err(failed)?;
        Ok(self.issued(&certificate, &key, not_before, not_after))
    }

    /// Signs a request: the certificate has the subject, the alternative names and the key of the request, and the usages
    /// given here. Returns PEM.
    ///
    /// # Errors
    /// An expired authority, or a failure of the cryptography.
    pub fn sign(
        &self,
        csr: &Csr,
        usages: &[Usage],
        validity: Duration,
        now: Timestamp,
    ) -> Result<String, IssueError> {
        let (mut params, _, _) = self.params(csr.common_name(), validity, now)?;
        params.subject_alt_names = csr.alternative_names().to_vec();
        let wanted = |usage| usages.contains(&usage);
        params.key_usages.clear();
        if wanted(Usage::DigitalSignature) {
            params.key_usages.push(KeyUsagePurpose::DigitalSignature);
        }
        if wanted(Usage::KeyEncipherment) {
            params.key_usages.push(KeyUsagePurpose::KeyEncipherment);
        }
        if wanted(Usage::ClientAuth) {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }
        let failed = |error| cryptography(csr.common_name(), error);
        let certificate =
            sign_as(params, csr.subject(), csr.key(), &self.issuer, &self.name).map_err(failed)?;
        Ok(certificate_pem(&certificate))
    }

    /// Returns the parameters that both kinds of leaf certificates share, and their validity.
    fn params(
        &self,
        subject: &str,
        validity: Duration,
        now: Timestamp,
    ) -> Result<(CertificateParams, Timestamp, Timestamp), IssueError> {
        if now > self.not_after {
            return Err(IssueError::AuthorityExpired {
                common_name: self.common_name.clone(),
                not_after: self.not_after,
            });
        }
        let not_before = start(now).max(self.not_before);
        let not_after = end(now, validity).min(self.not_after);
        let mut params = params(not_before, not_after, subject)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        Ok((params, not_before, not_after))
    }

    fn issued(
        &self,
        certificate: &[u8],
        key: &KeyPair,
        not_before: Timestamp,
        not_after: Timestamp,
    ) -> Issued {
        Issued {
            certificate_pem: certificate_pem(certificate),
            key_pem: key.serialize_pem(),
            ca_pem: self.certificate_pem.clone(),
            not_before,
            not_after,
        }
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("common_name", &self.common_name)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

// === impl Issued ===

impl Issued {
    /// Writes `ca.crt`, `tls.crt` and `tls.key` into `folder`, and creates it if necessary. Only the owner can read the
    /// key. Each file is replaced atomically, but the three together are not: for a moment, a reader may see a certificate
    /// with the former key.
    ///
    /// # Errors
    /// [`IssueError::Write`] for the first file that cannot be written.
    pub fn write_folder(&self, folder: &Path) -> Result<(), IssueError> {
        fs::create_dir_all(folder).map_err(|source| IssueError::Write {
            path: folder.to_owned(),
            source,
        })?;
        for (file, content, mode) in [
            (CA_FILE, &self.ca_pem, 0o644),
            (CERTIFICATE_FILE, &self.certificate_pem, 0o644),
            (KEY_FILE, &self.key_pem, 0o600),
        ] {
            let path = folder.join(file);
            replace_file(&path, content, mode)
                .map_err(|source| IssueError::Write { path, source })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued")
            .field("certificate_pem", &self.certificate_pem)
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

/// Makes the certificate of `--self-signed`: like [`self_signed`], written to `folder` by [`Issued::write_folder`].
///
/// # Errors
/// Those of [`self_signed`] and [`Issued::write_folder`].
pub fn write_self_signed(
    folder: &Path,
    validity: Duration,
    now: Timestamp,
) -> Result<Issued, IssueError> {
    let issued = self_signed(validity, now)?;
    issued.write_folder(folder)?;
    Ok(issued)
}

/// Issues a serving certificate for `localhost`, `127.0.0.1` and `::1`, from a new authority whose key is not kept.
///
/// # Errors
/// Those of [`Authority::new`] and [`Authority::leaf`].
pub fn self_signed(validity: Duration, now: Timestamp) -> Result<Issued, IssueError> {
    let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let authority = Authority::new("berth self-signed", validity, now)?;
    authority.leaf(&["localhost"], &loopback, validity, now)
}

fn params(
    not_before: Timestamp,
    not_after: Timestamp,
    subject: &str,
) -> Result<CertificateParams, IssueError> {
    let mut serial = [0; 16];
    ring::default_provider()
        .secure_random
        .fill(&mut serial)
        .map_err(|_| cryptography(subject, "no random numbers"))?;
    // Positive, and never shorter.
    serial[0] = serial[0] & 0x7f | 0x40;

    // rcgen needs a type of the crate `time`. A fixed date and a duration avoid that dependency.
    let epoch = date_time_ymd(1970, 1, 1);
    let since_epoch =
        |at: Timestamp| Duration::from_secs(u64::try_from(at.as_second()).unwrap_or(0));
    let mut params = CertificateParams::default();
    params.not_before = epoch + since_epoch(not_before);
    params.not_after = epoch + since_epoch(not_after);
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.distinguished_name = DistinguishedName::new();
    Ok(params)
}

/// Drops the fraction of a second, which X.509 cannot express.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

fn start(now: Timestamp) -> Timestamp {
    whole_second(now.checked_sub(CLOCK_SKEW).unwrap_or(now))
}

fn end(now: Timestamp, validity: Duration) -> Timestamp {
    whole_second(now.checked_add(validity).unwrap_or(Timestamp::MAX))
}

fn alternative_names(dns_names: &[&str]) -> Result<Vec<SanType>, IssueError> {
    let invalid = |name: &str| IssueError::InvalidDnsName(name.to_owned());
    dns_names
        .iter()
        .map(|&name| {
            DnsName::try_from(name).map_err(|_| invalid(name))?;
            Ok(SanType::DnsName(
                name.try_into().map_err(|_| invalid(name))?,
            ))
        })
        .collect()
}

/// Writes a new file beside `path` and renames it. After an error, no new file remains.
fn replace_file(path: &Path, content: &str, mode: u32) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&new)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    // A crash may have left a file. `create_new` refuses an existing file, because it could be a link to another place.
    let _ = fs::remove_file(&new);
    write().inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

fn cryptography(subject: &str, reason: impl fmt::Display) -> IssueError {
    IssueError::Cryptography {
        subject: subject.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
