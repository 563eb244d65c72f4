/**
 * node:http without what it brings along. `import ... from 'node:http'` reads each of its exports, and one of them
 * (WebSocket) is made by loading all of undici: 13 MB of resident memory, once for every engine.
 */
export const http = process.getBuiltinModule('node:http');
