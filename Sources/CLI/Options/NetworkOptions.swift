import ArgumentParser
import LarderKit

/// How the network is used. `plan` takes them, too: manifests may be on it, and it depends on what
/// is sent which variant of an icon is wanted.
struct NetworkOptions: ParsableArguments {
    @OptionGroup(title: "Limits") var transfer: TransferOptions
    @OptionGroup(title: "Patience") var retry: RetryOptions
    @OptionGroup(title: "Addresses") var addresses: AddressOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions

    /// - Throws: ``MissingInput`` if a file that is named cannot be read.
    func apply(to configuration: inout PrefetchConfiguration) throws {
        transfer.apply(to: &configuration)
        retry.apply(to: &configuration)
        try addresses.apply(to: &configuration)
        try credentials.apply(to: &configuration)
    }
}
