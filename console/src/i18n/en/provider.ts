export const provider = {
  signIn: 'Sign in with {{name}}',
  failedTitle: 'The sign-in did not succeed',
  failed:
    'It was canceled, took more than 10 minutes, or began in another browser: start it again. If it fails again, the gateway’s settings of the provider may be wrong.',
  again: 'Back to the sign-in',
};
