import ArgumentParser

struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Maintain a remote, a store of icons that several machines share.",
        discussion: """
            EXAMPLES:
              # Share all icons of the cache.
              larder remote push --remote s3://icons/shared
              # Read every object of a remote again.
              larder remote verify --remote s3://icons/shared
            """,
        subcommands: [
            RemotePushCommand.self, RemotePullCommand.self, RemoteVerifyCommand.self,
            RemoteEvictCommand.self,
        ])
}
