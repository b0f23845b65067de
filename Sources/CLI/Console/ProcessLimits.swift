import Foundation
import LarderCache

/// The limits of the process that Larder cannot do without. They are checked before anything
/// begins, because a run that meets one in the middle may not be able to say so.
enum ProcessLimits {
    /// File descriptors that every command needs: the cache and its index, and those that
    /// libdispatch opens on threads of its own. It traps (SIGILL) if there is none.
    private static let files = 24
    /// Threads that every command needs: the one that runs it, the one that handles signals, and
    /// libdispatch's own.
    private static let threads = 4
    /// Threads of a run that transfers or stores: those that read, transfer, write and commit.
    private static let transferThreads = 24
    /// Address space that a command needs besides its threads' stacks, in bytes.
    private static let room = 96 << 20

    /// Ends the program if it could not even start a command.
    static func requireSome() {
        var taken: [Int32] = []
        for _ in 0..<files {
            let descriptor = dup(STDERR_FILENO)
            if descriptor < 0 { break }
            taken.append(descriptor)
        }
        for descriptor in taken { close(descriptor) }
        if taken.count < files {
            leave(
                CacheError(
                    .unusable, subject: "files",
                    message: "the limit on open files is too low (ulimit -n)"))
        }
        do { try HelperThread.require(threads, room: room) } catch { leave(error) }
    }

    /// Checks that there are threads for a run that transfers or stores.
    ///
    /// - Throws: `CacheError` that names the limit.
    static func requireTransfers() throws(CacheError) {
        try HelperThread.require(transferThreads, room: room)
    }

    /// Ends the program because of a limit, with the status of a command that could not run.
    static func leave(_ error: CacheError) -> Never {
        Console.complain(error.message)
        _exit(1)
    }
}
