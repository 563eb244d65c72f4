import base from './jest.config.js';
export default {
  ...base,
  projects: base.projects
    .slice(0, 1)
    .map((p) => ({
      ...p,
      roots: p.roots.slice(0, 6),
      globalSetup: '<rootDir>/test/global-setup.js',
      globalTeardown: '<rootDir>/test/global-teardown.js',
    })),
};
