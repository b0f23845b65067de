/// A shell that completes larder's command lines.
enum Shell: String, CaseIterable {
    case bash, zsh, fish
}
