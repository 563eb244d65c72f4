import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findBlock, listInlineCommands, type AdministratorPage } from '../../support/docs/blocks.js';
import { ROOT } from '../../support/program.js';
import { until } from '../../support/wait.js';
import { MAIN_NODE, type E2eStage } from '../stage.js';

const execute = promisify(execFile);

/** Texts of a block that the reader replaces by own values. */
export type Placeholders = Record<string, string>;

/** Types the commands of the pages for administrators, in a folder and an environment of its own. */
export class Reader {
  readonly folder: string;
  /** Blocks that have been typed successfully. */
  readonly typed = new Set<string>();
  readonly #env: NodeJS.ProcessEnv;

  constructor(
    readonly stage: E2eStage,
    { PATH, ...more }: NodeJS.ProcessEnv,
  ) {
    const { cluster, helm } = stage;
    this.folder = mkdtempSync(join(cluster.folder, 'reader-'));
    symlinkSync(join(ROOT, 'charts'), join(this.folder, 'charts'));
    const programs = join(this.folder, '.programs');
    mkdirSync(programs);
    symlinkSync(join(cluster.programs.kubernetes, 'kubectl'), join(programs, 'kubectl'));
    symlinkSync(helm, join(programs, 'helm'));
    for (const [name, script] of Object.entries(SCRIPTS))
      writeFileSync(join(programs, name), `#!/bin/sh -e\n${script}\n`, { mode: 0o755 });
    this.#env = {
      ...more,
      PATH: [programs, dirname(process.execPath), PATH].join(delimiter),
      HOME: this.folder,
      // On a CI machine, make images refuses base images without a digest.
      CI: undefined,
      KUBECONFIG: cluster.plane.kubeconfig,
      CTR: join(cluster.programs.containerd, 'ctr'),
      NODE_SOCKET: cluster.node(MAIN_NODE).socket,
      REGISTRY: cluster.registry,
    };
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8');
  }

  /**
   * Types the block of a page that contains this text.
   *
   * @throws Error with its output if it fails
   */
  async type(
    page: AdministratorPage,
    text: string,
    placeholders: Placeholders = {},
    cwd = this.folder,
  ): Promise<string> {
    const block = findBlock(page, text);
    const output = await this.run(fillIn(block, placeholders), cwd);
    this.typed.add(block);
    return output;
  }

  /** Types the command of a page that is part of a sentence or a table and contains this text. */
  typeInline(page: AdministratorPage, text: string): Promise<string> {
    const commands = listInlineCommands(page).filter((command) => command.includes(text));
    if (commands.length !== 1) throw new Error(`${page} must have exactly one command with ${text}`);
    return this.run(commands[0]!);
  }

  async run(command: string, cwd = this.folder): Promise<string> {
    try {
      const options = { cwd, env: this.#env, maxBuffer: 2 ** 26 };
      return (await execute('bash', ['--norc', '-euo', 'pipefail', '-c', command], options)).stdout;
    } catch (error) {
      const { stderr, stdout } = error as { stderr?: string; stdout?: string };
      throw new Error(`${command}\n${stdout}${stderr}`, { cause: error });
    }
  }

  /**
   * Types a command that keeps running, and waits until it prints this text.
   *
   * @returns a function that ends it
   */
  async start(command: string, text: string): Promise<() => Promise<void>> {
    const child = spawn('bash', ['--norc', '-c', `exec ${command}`], { cwd: this.folder, env: this.#env });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const says = () => {
      if (child.exitCode !== null) throw new Error(`${command} ended:\n${said}`);
      return said.includes(text);
    };
    await until(says, { what: `${command} prints ${text}`, timeoutMs: 60_000 });
    return () => {
      child.kill();
      return ended;
    };
  }

  /** Types a command until its output has this text. */
  async untilRead(command: string, text: string | RegExp): Promise<void> {
    const says = async () => has(await this.run(command).catch(String), text);
    await until(says, { what: `${command} prints ${text}`, timeoutMs: 120_000, everyMs: 500 });
  }
}

/**
 * Programs that this machine lacks. `gwk` runs in a pod of the API, and `kubectl gwk` is the bundle that becomes an
 * executable. No Docker engine runs here: `docker build` pulls the image that test/support/images has built from the same
 * Dockerfile, into a namespace of the node's containerd. `kind load` imports it into that of Kubernetes. containerd has no
 * default address, because several nodes share the machine.
 */
const SCRIPTS: Record<string, string> = {
  gwk: 'exec kubectl -n messages exec deploy/gwk-api -- gwk "$@"',
  'kubectl-gwk': `exec node ${join(ROOT, 'cli/dist/gwk.cjs')} kubectl "$@"`,
  ctr: 'exec "$CTR" -a "$NODE_SOCKET" "$@"',
  docker: `
case "$1" in
build)
  while [ $# -gt 0 ]; do
    case "$1" in --tag) image=\${2##*/} ;; esac
    shift
  done
  ctr -n docker images pull --plain-http "$REGISTRY/gwk/$image" >/dev/null
  ctr -n docker images tag --force "$REGISTRY/gwk/$image" "docker.io/library/$image" ;;
save) ctr -n docker images export "$4" "docker.io/library/$2" ;;
*) exit 2 ;;
esac`,
  kind: `
[ "$1 $2" = "load docker-image" ]
ctr -n docker images export - "docker.io/library/$3" | ctr -n k8s.io images import -`,
};

function fillIn(block: string, placeholders: Placeholders): string {
  for (const [shown, value] of Object.entries(placeholders)) {
    if (!block.includes(shown)) throw new Error(`no placeholder ${shown} in\n${block}`);
    block = block.replaceAll(shown, value);
  }
  return block;
}

const has = (output: string, text: string | RegExp): boolean =>
  typeof text === 'string' ? output.includes(text) : text.test(output);

/** @throws Error if an output lacks one of these texts */
export function expectTexts(output: string, ...texts: (string | RegExp)[]): void {
  const missing = texts.filter((text) => !has(output, text));
  if (missing.length > 0) throw new Error(`no ${missing.join(', no ')} in\n${output}`);
}
