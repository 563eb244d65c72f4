export const provider = {
  signIn: 'Sign in with {{name}}',
  failedTitle: 'The sign-in did not succeed',
  failed: 'It was canceled, took more than 10 minutes, or began in another browser. You can start it again.',
  again: 'Back to the sign-in',
};
