//! Time, and the identity of this process and this boot.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};

use super::{Environment, platform};

#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn now() -> Instant {
    Instant::now()
}

#[must_use]
pub fn in_ms(ms: u64) -> Instant {
    now() + Duration::from_millis(ms)
}

/// A limit on the processor time of the thread that made it. On a busy machine the same work ends
/// at the same point, only later.
#[derive(Debug, Clone, Copy)]
pub struct CpuLimit {
    limit: Duration,
    began: Instant,
    used: Duration,
}

impl CpuLimit {
    #[must_use]
    pub fn new(limit: Duration) -> CpuLimit {
        CpuLimit { limit, began: now(), used: thread_time() }
    }

    /// Whether this thread has used the processor for longer than the limit. Another thread gets
    /// an answer from its own time, which means nothing.
    #[must_use]
    pub fn is_over(&self) -> bool {
        // A thread uses the processor no longer than the clock goes on, and the clock costs no
        // system call.
        now().duration_since(self.began) >= self.limit
            && thread_time().saturating_sub(self.used) >= self.limit
    }
}

fn thread_time() -> Duration {
    processor_time(platform::THREAD)
}

/// The processor time that was used. Not by `rustix`, whose clocks read the vDSO, which `valgrind`
/// hides.
pub(super) fn processor_time(who: UsageWho) -> Duration {
    let Ok(used) = getrusage(who) else { return Duration::ZERO };
    let part = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    part(used.user_time()) + part(used.system_time())
}

/// The time in seconds since 1970.
#[must_use]
pub fn seconds() -> i64 {
    let since = system().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The local time zone's offset from UTC at the time `at`, both in seconds.
///
/// The zone is `TZ`, otherwise `/etc/localtime`, otherwise UTC. It is read once per process and
/// environment.
#[must_use]
pub fn utc_offset(environment: Environment, at: i64) -> i32 {
    static ISOLATED: OnceLock<TimeZone> = OnceLock::new();
    static PROCESS: OnceLock<TimeZone> = OnceLock::new();
    let zone = match environment {
        Environment::Isolated => &ISOLATED,
        Environment::Process => &PROCESS,
    };
    let zone = zone.get_or_init(|| time_zone(environment.text("TZ")).unwrap_or(TimeZone::UTC));
    Timestamp::from_second(at).map_or(0, |at| zone.to_offset(at).seconds())
}

/// The zone that the variable `TZ` names as tzset(3) reads it; the machine's zone if it is not set.
/// One file is read at most: looking a name up in jiff's database would list all of them.
fn time_zone(name: Option<String>) -> Option<TimeZone> {
    let read = |path: PathBuf| TimeZone::tzif("", &crate::fs::read_small(&path, 1 << 20)?).ok();
    let Some(name) = name else { return read("/etc/localtime".into()) };
    let name = name.trim_start_matches(':');
    if name.is_empty() {
        return Some(TimeZone::UTC);
    }
    if name == "localtime" {
        return read("/etc/localtime".into());
    }
    let directories = ["/usr/share/zoneinfo", "/share/zoneinfo", "/etc/zoneinfo"];
    let file = directories.iter().find_map(|directory| read(Path::new(directory).join(name)));
    file.or_else(|| TimeZone::posix(name).ok())
}

/// The system time, for comparison with the times of files.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn system() -> SystemTime {
    SystemTime::now()
}

/// The time in UTC, in seconds, as `2026-01-31T12:00:00Z`.
#[must_use]
pub fn utc() -> String {
    utc_at(seconds())
}

/// The time `at`, in seconds since 1970, as [`utc`] prints it.
#[must_use]
pub fn utc_at(at: i64) -> String {
    Timestamp::from_second(at).unwrap_or_default().to_string()
}

/// The time `at` in the local time zone, as `2026-01-31 12:00`.
#[must_use]
pub fn local_minute(environment: Environment, at: i64) -> String {
    let local = at.saturating_add(i64::from(utc_offset(environment, at)));
    let Ok(time) = Timestamp::from_second(local) else { return "-".to_owned() };
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// The name of this host, as `gethostname` gives it.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A wait with a limit and with growing pauses.
#[derive(Debug)]
pub struct Countdown {
    end: Instant,
    pause: Duration,
}

impl Countdown {
    #[must_use]
    pub fn new(limit: Duration) -> Countdown {
        Countdown { end: now() + limit, pause: Duration::from_micros(500) }
    }

    /// Pauses; false if the limit is over.
    pub fn pause(&mut self) -> bool {
        if now() >= self.end {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(Duration::from_millis(16));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tz_is_a_rule_a_name_or_a_file() {
        let offset = |name: &str| {
            let zone = time_zone(Some(name.to_owned()));
            zone.map(|zone| zone.to_offset(Timestamp::UNIX_EPOCH).seconds())
        };
        assert_eq!(offset(""), Some(0));
        assert_eq!(offset("CET-1CEST,M3.5.0,M10.5.0/3"), Some(3_600));
        assert_eq!(offset("nothing of the kind"), None);
        if Path::new("/usr/share/zoneinfo/Asia/Kolkata").exists() {
            assert_eq!(offset(":Asia/Kolkata"), Some(19_800));
            assert_eq!(offset("/usr/share/zoneinfo/Asia/Kolkata"), Some(19_800));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_waits_uses_no_processor_time() {
        let limit = CpuLimit::new(Duration::from_millis(20));
        std::thread::sleep(Duration::from_millis(40));
        assert!(!limit.is_over());
        let until = in_ms(10_000);
        while !limit.is_over() {
            assert!(now() < until, "20 ms of work take 10 s");
        }
    }
}
