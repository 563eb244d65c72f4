/**
 * What is in the images: the one list that the Dockerfile and `make images` share. An image is the Node that makes it,
 * the libraries which that links to, and of this repository and its packages what one program needs. No shell, no
 * package manager; the worker alone has a shell, which bounds its decoders.
 */
export const USER = 65532;
export const NODE = '/usr/bin/node';
export const APP = '/app';
export const SOURCE = 'https://github.com/gwk-dev/gwk';

/**
 * @typedef {object} Image
 * @property {string} title
 * @property {string} description
 * @property {string} licenses of all that is in it
 * @property {string[]} workspaces of this repository
 * @property {string[]} without packages that its workspaces name and this program never loads
 * @property {string[]} files more of this repository
 * @property {string[]} hostPrograms programs of the machine that makes the image, at the same place in it
 * @property {string} command what it does when nothing is said
 * @property {number[]} ports
 */

/** @type {Record<string, Image>} */
export const IMAGES = {
  api: {
    title: 'gwk-api',
    description: 'gwk api: the HTTP API and the internal port; also gwk migrate, account, key and policy',
    licenses: 'Apache-2.0',
    workspaces: ['core', 'api'],
    without: ['sharp', 'fluent-ffmpeg', '@ffmpeg-installer/ffmpeg'],
    files: [],
    hostPrograms: [],
    command: 'api',
    ports: [8080, 8081, 8085],
  },
  worker: {
    title: 'gwk-worker',
    description: 'gwk worker: webhooks, files, schedules and retention',
    // ffmpeg is a program of its own beside it.
    licenses: 'Apache-2.0 AND GPL-3.0-only AND LGPL-3.0-or-later',
    workspaces: ['core', 'api'],
    without: ['swagger-ui-dist'],
    files: ['api/bin/run-limited', 'api/bin/media-tool.js'],
    hostPrograms: ['/bin/sh', '/usr/bin/env'],
    command: 'worker',
    ports: [8082],
  },
  operator: {
    title: 'gwk-operator',
    description: 'gwk operator: Instance resources become engines; also gwk secrets',
    licenses: 'Apache-2.0',
    workspaces: ['core', 'operator'],
    // It reads the configuration of kubectl, which there is none of inside a cluster; and it has no traces.
    without: [
      '@kubernetes/client-node',
      'redis',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
    ],
    files: [],
    hostPrograms: [],
    command: 'operator',
    ports: [8083],
  },
  engine: {
    title: 'gwk-engine',
    description: 'gwk engine: one number',
    // See NOTICE: with libsignal in it, the whole is under the terms of libsignal.
    licenses: 'GPL-3.0-only',
    workspaces: ['core', 'engine-pod'],
    without: ['redis', 'zod', 'uuid'],
    files: [],
    hostPrograms: [],
    command: 'engine',
    ports: [8084],
  },
};

/** In every image. */
export const COMMON_FILES = ['package.json', 'LICENSE', 'NOTICE', 'THIRD-PARTY.md'];

const DROPPED_FILES = [
  /\.map$/,
  /\.d\.[cm]?ts$/,
  /\.[cm]?ts$/,
  /\.tsbuildinfo$/,
  /(^|\/)(readme|changelog|history|contributing|security|authors)(\.(md|markdown|txt|rst))?$/i,
  /(^|\/)\.(npmignore|gitignore|editorconfig|eslintrc|prettierrc|travis|nycrc|jshintrc)[^/]*$/,
];
/** At the top of a package; deeper, such names are those of code. */
const DROPPED_FOLDERS = /^(__tests__|\.github|tests?|docs?|examples?|benchmarks?|man)\//;

/** Packages of which only some files are ever read. */
const ONLY = {
  '@prisma/client':
    /^(package\.json|LICENSE|runtime\/(client|index-browser)\.|runtime\/query_compiler_fast_bg\.postgresql\.)/,
  'swagger-ui-dist': /^(package\.json|LICENSE|NOTICE|swagger-ui\.css|swagger-ui-bundle\.js)$/,
};

/** @param {string} path in its package */
export function isNeeded(name, path) {
  if (DROPPED_FOLDERS.test(path) || DROPPED_FILES.some((pattern) => pattern.test(path))) return false;
  return ONLY[name]?.test(path) ?? true;
}

/** Of a workspace: what was built, and what that reads. */
export function isNeededOfWorkspace(path) {
  if (/^(package\.json|prisma\/migrations\/)/.test(path)) return true;
  return /^dist\/(?!testing\/).*\.js$/.test(path);
}
