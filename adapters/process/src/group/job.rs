//! Job objects and other process functions of Windows that the standard library lacks.
#![expect(unsafe_code, reason = "the standard library knows no jobs, and no processes that are not its own")]

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
use std::ptr;
use std::time::Duration;

use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS,
    JobObjectBasicAccountingInformation, JobObjectBasicProcessIdList, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    OpenProcess, OpenThread, PROCESS_SET_QUOTA, PROCESS_TERMINATE, ResumeThread, THREAD_SUSPEND_RESUME,
};

/// Exit status of processes that were ended.
const ENDED: u32 = 1;

/// Maximum number of members of a job that are listed.
const MEMBERS_MAX: usize = 1024;

/// A job object. Its processes end when its only handle, this one, is closed.
pub(super) struct Job(OwnedHandle);

/// Resource usage of a job.
pub(super) struct JobUsage {
    /// Number of running processes.
    pub(super) processes: u32,
    /// Processor time, including processes that have ended.
    pub(super) processor: Duration,
}

/// `JOBOBJECT_BASIC_PROCESS_ID_LIST` with room for several ids.
#[repr(C)]
struct Members {
    assigned: u32,
    listed: u32,
    ids: [usize; MEMBERS_MAX],
}

impl Job {
    /// Creates a job with one process in it.
    pub(super) fn with_process(process: u32) -> io::Result<Self> {
        // SAFETY: neither attributes nor a name are given.
        let job = Self(take_handle(unsafe { CreateJobObjectW(ptr::null(), ptr::null()) })?);
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let (class, size) = (JobObjectExtendedLimitInformation, size_of_val(&limits) as u32);
        // SAFETY: the structure is the one of its class, of the size that is given.
        check_success(unsafe {
            SetInformationJobObject(job.raw(), class, (&raw const limits).cast(), size)
        })?;
        // SAFETY: the call takes no pointer.
        let process = take_handle(unsafe { OpenProcess(PROCESS_SET_QUOTA | PROCESS_TERMINATE, 0, process) })?;
        // SAFETY: both handles are open.
        check_success(unsafe { AssignProcessToJobObject(job.raw(), process.as_raw_handle()) })?;
        Ok(job)
    }

    pub(super) fn usage(&self) -> io::Result<JobUsage> {
        let mut usage = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        let size = size_of_val(&usage);
        self.query(JobObjectBasicAccountingInformation, (&raw mut usage).cast(), size)?;
        // In units of 100 ns.
        let ticks = usage.TotalUserTime.saturating_add(usage.TotalKernelTime);
        let processor = Duration::from_nanos(u64::try_from(ticks).unwrap_or(0).saturating_mul(100));
        Ok(JobUsage { processes: usage.ActiveProcesses, processor })
    }

    /// Returns the ids of its first [`MEMBERS_MAX`] processes.
    pub(super) fn members(&self) -> io::Result<Vec<u32>> {
        let mut members = Members { assigned: 0, listed: 0, ids: [0; MEMBERS_MAX] };
        let size = size_of_val(&members);
        match self.query(JobObjectBasicProcessIdList, (&raw mut members).cast(), size) {
            Err(error) if error.raw_os_error() != Some(ERROR_MORE_DATA as i32) => return Err(error),
            _ => {}
        }
        let ids = members.ids.into_iter().take(members.listed as usize);
        Ok(ids.filter_map(|id| u32::try_from(id).ok()).collect())
    }

    /// Ends all its processes.
    pub(super) fn end(&self) -> io::Result<()> {
        // SAFETY: the handle is open.
        check_success(unsafe { TerminateJobObject(self.raw(), ENDED) })
    }

    /// Queries a job; `answer` has the type that `class` requires, and `size` bytes.
    fn query(&self, class: JOBOBJECTINFOCLASS, answer: *mut c_void, size: usize) -> io::Result<()> {
        // SAFETY: the handle is open, and all callers are above.
        check_success(unsafe {
            QueryInformationJobObject(self.raw(), class, answer, size as u32, ptr::null_mut())
        })
    }

    fn raw(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

/// Resumes a process that was started suspended.
pub(super) fn resume(process: u32) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    let threads = take_handle(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..THREADENTRY32::default() };
    // SAFETY: the handle is open, and the structure holds its size; so below.
    let mut has_entry = unsafe { Thread32First(threads.as_raw_handle(), &raw mut entry) } != 0;
    while has_entry {
        if entry.th32OwnerProcessID == process {
            // SAFETY: the call takes no pointer.
            let thread = take_handle(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: the handle is open.
            if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: as above.
        has_entry = unsafe { Thread32Next(threads.as_raw_handle(), &raw mut entry) } != 0;
    }
    Ok(())
}

/// Sends Ctrl-Break to the group of a process.
pub(super) fn interrupt(leader: u32) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    check_success(unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, leader) })
}

fn check_success(answer: i32) -> io::Result<()> {
    if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes ownership of a handle that a call returned.
fn take_handle(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and ours to close.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
