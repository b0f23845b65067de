import CLarderGuard

/// What the processes that have an index open share beside it, mapped into their memory.
///
/// Once its disk has failed, a store into it ends a process with SIGBUS: the page was written down
/// meanwhile, and cannot be made writable again. A program that is to say how far it came has it
/// guarded.
package enum SharedMemory {
    /// Has such a store go nowhere instead; from then on every access to an index of this process
    /// fails. For programs, not for libraries: the signal's handler is the process's own. On Linux
    /// alone.
    package static func guardAgainstFailingDisk() { larder_guard_shared_memory() }

    /// Whether that has happened. What is read from it is of no use then, and what others do is not
    /// seen.
    static var isLost: Bool { larder_shared_memory_is_lost() }
}
