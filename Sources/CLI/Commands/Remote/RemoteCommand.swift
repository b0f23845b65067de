import ArgumentParser

struct RemoteCommand: ParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Maintain a remote: an object store of icons that several machines share.",
        subcommands: [
            RemotePushCommand.self, RemotePullCommand.self, RemoteVerifyCommand.self,
            RemoteEvictCommand.self,
        ])

    static let guide = CommandGuide(
        examples: [
            .init("Share all icons of the cache.", "larder remote push --remote s3://icons/shared"),
            .init(
                "Read every object of a remote again.",
                "larder remote verify --remote s3://icons/shared"),
        ])
}
