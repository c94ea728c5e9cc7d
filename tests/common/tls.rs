//! A server in front of the throwaway one that speaks TLS, or says that it does not, and certificates for it.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// What a client asks before anything else when it would like TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// An authority, and where its certificate lies; the file is gone at the end.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub file: PathBuf,
}

/// A certificate with its key.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
    /// The certificate as text.
    pub pem: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, super::unique("authority"));
        let key = KeyPair::generate().unwrap();
        let file = std::env::temp_dir().join(super::unique("me-authority"));
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file }
    }

    /// A certificate for a name or an address.
    pub fn certify(&self, name: &str) -> Identity {
        self.sign(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// One that is past its time.
    pub fn certify_for_the_past(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(2001, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { pem: certificate.pem(), certificate: certificate.der().clone(), key }
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Identity {
    /// A certificate that nobody but its holder vouches for, marked as an authority's as the usual commands do it.
    pub fn self_signed(name: &str) -> Self {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { pem: certificate.pem(), certificate: certificate.der().clone(), key }
    }

    fn config(&self) -> Arc<ServerConfig> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

/// A server that listens on TCP and hands everything on to the throwaway server.
pub struct Front {
    /// Its port on 127.0.0.1.
    pub port: u16,
    encrypted: Arc<AtomicUsize>,
    plain: Arc<AtomicUsize>,
}

impl Front {
    /// One with a certificate, or one that knows no TLS.
    pub fn start(identity: Option<&Identity>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let front = Self {
            port: listener.local_addr().unwrap().port(),
            encrypted: Arc::default(),
            plain: Arc::default(),
        };
        let config = identity.map(Identity::config);
        let (encrypted, plain) = (Arc::clone(&front.encrypted), Arc::clone(&front.plain));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (config, encrypted, plain) = (config.clone(), Arc::clone(&encrypted), Arc::clone(&plain));
                thread::spawn(move || serve(client, config, &encrypted, &plain));
            }
        });
        front
    }

    /// How many connections went through it: encrypted, and plain.
    pub fn connections(&self) -> (usize, usize) {
        (self.encrypted.load(Ordering::SeqCst), self.plain.load(Ordering::SeqCst))
    }
}

fn database() -> UnixStream {
    let env = |name: &str| std::env::var(name).unwrap();
    UnixStream::connect(format!("{}/.s.PGSQL.{}", env("PGHOST"), env("PGPORT"))).unwrap()
}

fn serve(
    mut client: TcpStream,
    config: Option<Arc<ServerConfig>>,
    encrypted: &AtomicUsize,
    plain: &AtomicUsize,
) -> Option<()> {
    let mut first = [0; 8];
    client.read_exact(&mut first).ok()?;
    let mut database = database();
    match config {
        Some(config) if first == SSL_REQUEST => {
            client.write_all(b"S").ok()?;
            let mut tls = ServerConnection::new(config).ok()?;
            // A client that says one thing and leaves has left before the tickets are written.
            while tls.is_handshaking() && (tls.complete_io(&mut client).is_ok() || !tls.is_handshaking()) {}
            if tls.is_handshaking() {
                return None;
            }
            encrypted.fetch_add(1, Ordering::SeqCst);
            decrypt(&mut tls, &mut client, &mut database)
        }
        _ => {
            if first == SSL_REQUEST {
                client.write_all(b"N").ok()?;
            } else {
                database.write_all(&first).ok()?;
            }
            plain.fetch_add(1, Ordering::SeqCst);
            let (mut back, mut there) = (client.try_clone().ok()?, database.try_clone().ok()?);
            thread::spawn(move || std::io::copy(&mut there, &mut back));
            std::io::copy(&mut client, &mut database).ok()?;
            database.shutdown(std::net::Shutdown::Both).ok()
        }
    }
}

/// Carries bytes both ways until one side has no more.
fn decrypt(tls: &mut ServerConnection, client: &mut TcpStream, database: &mut UnixStream) -> Option<()> {
    let moment = Some(Duration::from_millis(1));
    client.set_read_timeout(moment).ok()?;
    database.set_read_timeout(moment).ok()?;
    let mut buffer = [0; 16 << 10];
    let nothing_yet =
        |error: &std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    loop {
        // Its end is told by the reader, behind what was read before.
        match tls.read_tls(client) {
            Ok(_) => {
                tls.process_new_packets().ok()?;
            }
            Err(error) if nothing_yet(&error) => {}
            Err(_) => return None,
        }
        match tls.reader().read(&mut buffer) {
            Ok(0) => return None,
            Ok(length) => database.write_all(&buffer[..length]).ok()?,
            Err(error) if nothing_yet(&error) => {}
            Err(_) => return None,
        }
        match database.read(&mut buffer) {
            Ok(0) => return None,
            Ok(length) => tls.writer().write_all(&buffer[..length]).ok()?,
            Err(error) if nothing_yet(&error) => {}
            Err(_) => return None,
        }
        // What was asked is done even when nobody waits for the answer.
        while tls.wants_write() && tls.write_tls(client).is_ok() {}
    }
}
