import { Command, CommanderError } from 'commander';
import { register } from '@gwk/api/cli';

export interface Outcome {
  code: number;
  json: unknown;
  error: string;
}

/** Runs the CLI in this process, because loading it in a new process takes about a second. */
export async function runGwk(args: string[], env: Record<string, string>): Promise<Outcome> {
  const said = { out: '', error: '' };
  const program = new Command('gwk').exitOverride().configureOutput({
    writeOut: (text) => (said.out += text),
    writeErr: (text) => (said.error += text),
  });
  register(program);
  const outside = process.env;
  process.env = { ...env };
  const out = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => (said.out += text.toString()) !== '');
  const error = jest
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => (said.error += text.toString()) !== '');
  let code: number;
  try {
    await program.parseAsync(args, { from: 'user' });
    code = Number(process.exitCode ?? 0);
  } catch (fault) {
    if (!(fault instanceof CommanderError)) throw fault;
    code = fault.exitCode;
  } finally {
    process.exitCode = undefined;
    process.env = outside;
    out.mockRestore();
    error.mockRestore();
  }
  const json: unknown = /^[{[]/.test(said.out) ? JSON.parse(said.out) : said.out;
  return { code, json, error: said.error };
}
