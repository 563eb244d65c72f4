import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A page with the help of a command line. */
interface HelpPage {
  page: string;
  program: string;
  /** Each help is that of `program <words> --help`. */
  commands: readonly (readonly string[])[];
}

export const HELP_PAGES: readonly HelpPage[] = [
  { page: 'server-cli.md', program: 'bin/gwk.js', commands: [[]] },
  {
    page: 'cli.md',
    program: 'cli/dist/gwk.cjs',
    commands: [
      [],
      ['login'],
      ['send'],
      ['messages'],
      ['instances'],
      ['events', 'tail'],
      ['webhooks'],
      ['check'],
    ],
  },
];

/** The block of text that the page shows. */
export function renderHelp({ program, commands }: HelpPage): string {
  const path = fileURLToPath(new URL(`../../${program}`, import.meta.url));
  const helps = commands.map((words) =>
    execFileSync(process.execPath, [path, ...words, '--help'], { encoding: 'utf8' }),
  );
  return `\`\`\`text\n${helps.join('\n')}\`\`\`\n`;
}
