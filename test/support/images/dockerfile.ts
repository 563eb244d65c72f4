import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../program.js';

export interface Instruction {
  name: string;
  text: string;
}

export interface Stage {
  name: string;
  /** A stage or an image. */
  base: string;
  instructions: Instruction[];
}

/** The configuration that an image gets from the Dockerfile. */
export interface ImageConfig {
  User: string;
  ExposedPorts: Record<string, object>;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  Labels: Record<string, string>;
}

/** The stages of the Dockerfile by name. @param given build arguments */
export function readStages(given: Record<string, string>, repository = ROOT): Map<string, Stage> {
  const text = readFileSync(join(repository, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ');
  const values: Record<string, string> = {};
  const stages = new Map<string, Stage>();
  let current: Stage | undefined;
  for (const [, name = '', raw = ''] of text.matchAll(/^([A-Z]+) +(.*)$/gm)) {
    const line = raw.trim().replaceAll(/\$\{(\w+)\}/g, (_, variable: string) => values[variable] ?? '');
    if (name === 'FROM') {
      const [base = '', , stage = ''] = line.split(' ');
      current = { name: stage, base, instructions: [] };
      stages.set(stage, current);
    } else if (name === 'ARG') {
      const [variable = '', byDefault = ''] = line.split('=');
      values[variable] = given[variable] ?? byDefault;
    } else current!.instructions.push({ name, text: line });
  }
  return stages;
}

/** Paths that other stages copy from a stage. */
export function listCopies(stages: Map<string, Stage>, name: string): string[] {
  return [...stages.values()]
    .flatMap(({ instructions }) => instructions)
    .filter(({ text }) => text.startsWith(`--from=${name} `))
    .flatMap(({ text }) => text.split(/ +/).slice(1, -1));
}

/** The instructions of a stage, after those of its base stages. */
export function listInstructions(stages: Map<string, Stage>, name: string): Instruction[] {
  const stage = stages.get(name);
  return stage ? [...listInstructions(stages, stage.base), ...stage.instructions] : [];
}

/** Files of the repository that instructions copy. */
export const listCopied = (instructions: Instruction[]): string[] =>
  instructions
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from='))
    .flatMap(({ text }) => text.split(/ +/).slice(0, -1));

/** Whether a stage copies single files only, and none of another stage. */
export const isSelfContained = (stages: Map<string, Stage>, name: string): boolean =>
  listInstructions(stages, name).every(({ text }) => !text.startsWith('--from=') && !text.startsWith('. '));

export function readConfig(stages: Map<string, Stage>, name: string): ImageConfig {
  const lines = listInstructions(stages, name);
  const last = (instruction: string): string =>
    lines.filter((one) => one.name === instruction).at(-1)?.text ?? '';
  const ports = last('EXPOSE').split(' ').filter(Boolean);
  const labels = [...last('LABEL').matchAll(/([\w.]+)="([^"]*)"/g)];
  return {
    User: last('USER'),
    ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
    Env: last('ENV').split(' '),
    Entrypoint: JSON.parse(last('ENTRYPOINT')) as string[],
    Cmd: JSON.parse(last('CMD')) as string[],
    WorkingDir: last('WORKDIR'),
    Labels: Object.fromEntries(labels.map(([, key, value]) => [key!, value!])),
  };
}
