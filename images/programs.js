/**
 * Contents of the images, shared by the Dockerfile and `make images`. An image contains the Node that makes it, the
 * libraries of that Node, and the files and packages that one program needs. It has no package manager and no shell. Only
 * the worker has a shell, which sets the resource limits of its decoders.
 */
export const USER = 65532;
export const NODE = '/usr/bin/node';
export const APP = '/app';
export const SOURCE = 'https://github.com/gwk-dev/gwk';

/**
 * @typedef {object} Image
 * @property {string} title
 * @property {string} description
 * @property {string} licenses of all contents
 * @property {string[]} workspaces of this repository
 * @property {string[]} without dependencies of the workspaces that this program never loads
 * @property {string[]} files other files of this repository
 * @property {string[]} hostPrograms programs of the build machine, copied to the same path
 * @property {string} command default command
 * @property {number[]} ports
 */

/** @type {Record<string, Image>} */
export const IMAGES = {
  api: {
    title: 'gwk-api',
    description: 'gwk api: the HTTP API and the internal API; also gwk migrate, account, key and policy',
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
    description: 'gwk worker: webhooks, media, schedules and retention',
    // ffmpeg is a separate program in the image.
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
    description: 'gwk operator: runs an engine for each Instance resource; also gwk secrets',
    licenses: 'Apache-2.0',
    workspaces: ['core', 'operator'],
    // The operator sends no traces.
    without: [
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
    description: 'gwk engine: connects one phone number',
    // libsignal puts the whole engine under its licence (NOTICE).
    licenses: 'GPL-3.0-only',
    workspaces: ['core', 'engine-pod'],
    without: ['redis', 'zod', 'uuid'],
    files: [],
    hostPrograms: [],
    command: 'engine',
    ports: [8084],
  },
};

/** Files in every image. */
export const COMMON_FILES = ['package.json', 'LICENSE', 'NOTICE', 'THIRD-PARTY.md'];

const DROPPED_FILES = [
  /\.map$/,
  /\.d\.[cm]?ts$/,
  /\.[cm]?ts$/,
  /\.tsbuildinfo$/,
  /(^|\/)(readme|changelog|history|contributing|security|authors)(\.(md|markdown|txt|rst))?$/i,
  /(^|\/)\.(npmignore|gitignore|editorconfig|eslintrc|prettierrc|travis|nycrc|jshintrc)[^/]*$/,
];
/** At the top of a package only. Deeper folders with these names contain code. */
const DROPPED_FOLDERS = /^(__tests__|\.github|tests?|docs?|examples?|benchmarks?|man)\//;

/** Packages of which programs read only some files. */
const ONLY = {
  '@prisma/client':
    /^(package\.json|LICENSE|runtime\/(client|index-browser)\.|runtime\/query_compiler_fast_bg\.postgresql\.)/,
  'swagger-ui-dist': /^(package\.json|LICENSE|NOTICE|swagger-ui\.css|swagger-ui-bundle\.js)$/,
};

/** @param {string} path relative to the package */
export function isNeeded(name, path) {
  if (DROPPED_FOLDERS.test(path) || DROPPED_FILES.some((pattern) => pattern.test(path))) return false;
  return ONLY[name]?.test(path) ?? true;
}

/** Keeps the build output of a workspace, its migrations and its SQL functions. */
export function isNeededInWorkspace(path) {
  if (/^(package\.json|prisma\/migrations\/)|^src\/.*\.sql$/.test(path)) return true;
  return /^dist\/(?!testing\/).*\.js$/.test(path);
}
