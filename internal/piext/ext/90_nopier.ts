
/** Installed without --tools pier. */
function registerPier(_pi: ExtensionAPI): void {}
