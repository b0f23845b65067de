import Foundation

/// Descriptors for files.
enum OpenFiles {
    /// libdispatch takes some on threads of its own, each when its time comes, and traps (SIGILL)
    /// if there is none; with the others no cache can be opened.
    private static let least = 13

    /// Leaves if there are too few for anything at all.
    static func requireSome() {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<least {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else {
                Console.complain("the limit on open files is too low (ulimit -n)")
                _exit(1)
            }
            taken.append(descriptor)
        }
    }
}
