import { prepareFolder } from './folder.js';
import { commandEnvironment, wire, type CommandWiring } from './environments.js';
import { GwkFailed, runGwk } from './programs.js';
import { loadSecrets } from './secrets.js';
import { loadLocalConfig } from './settings.js';

/** Administrator of the gateway on this machine. */
const EMAIL = 'local@localhost';
const SECONDS = '600';

/** Returns a link that signs in to the console once, within 10 minutes. Creates the user if there is none. */
export function makeConsoleLink(wiring: CommandWiring, account: string): Promise<string> {
  const env = commandEnvironment(wiring, process.env);
  return makeLinkBy((args) => runGwk(args, env), account);
}

/** @param run runs a `gwk` command and returns its output */
export async function makeLinkBy(run: (args: string[]) => Promise<string>, account: string): Promise<string> {
  const handoff = ['user', 'handoff', EMAIL, '--seconds', SECONDS];
  const output = await run(handoff).catch(async (error: unknown) => {
    if (!(error instanceof GwkFailed) || !error.message.includes(`user "${EMAIL}" not found`)) throw error;
    await run(['user', 'create', EMAIL, '--name', 'Local', '--account', account, '--platform-admin']);
    return run(handoff);
  });
  return (JSON.parse(output) as { url: string }).url;
}

/** `gwk console`: prints a link to the console of the gateway that `make run` started. */
export async function printConsoleLink(account: string): Promise<void> {
  const config = loadLocalConfig(process.env);
  const wiring = wire(config, loadSecrets(prepareFolder(config.folder).secrets));
  try {
    process.stdout.write(`${await makeConsoleLink(wiring, account)}\n`);
  } catch (error) {
    if (!(error instanceof GwkFailed)) throw error;
    process.stderr.write(`gwk console: ${error.message}\nIs the gateway running (make run)?\n`);
    process.exitCode = 1;
  }
}
