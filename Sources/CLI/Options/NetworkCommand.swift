import ArgumentParser
import LarderKit

/// A command with the options of the network. `plan` has them, too: manifests may be on it, and
/// which variant of an icon is wanted depends on what is sent.
///
/// Not a group of these groups: in debug builds, the parser validates each group four times for
/// every level above it, which was most of the time of a short run.
protocol NetworkCommand: ParsableCommand {
    var transfer: TransferOptions { get }
    var retry: RetryOptions { get }
    var addresses: AddressOptions { get }
    var credentials: CredentialOptions { get }
}

extension NetworkCommand {
    /// - Throws: ``MissingInput`` if a file that is named cannot be read.
    func applyNetwork(to configuration: inout PrefetchConfiguration) throws {
        transfer.apply(to: &configuration)
        retry.apply(to: &configuration)
        try addresses.apply(to: &configuration)
        try credentials.apply(to: &configuration)
    }
}
