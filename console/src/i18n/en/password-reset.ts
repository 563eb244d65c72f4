/** Forgotten passwords. */
export const passwordReset = {
  forgotTitle: 'Forgot your password?',
  forgotText: 'Enter the e-mail of your user. You get a link that sets a new password.',
  send: 'Send the link',
  sentTitle: 'Look into your e-mails',
  sentText: 'If {{email}} belongs to a user, a link is on its way. It works once, for 30 minutes.',
  toSignIn: 'Back to the sign-in',
  newTitle: 'New password',
  newPassword: 'New password',
  set: 'Set the password',
  doneTitle: 'The password is set',
  doneText: 'All your sessions have ended. Sign in with the new password.',
  again: 'Ask for another link',
};
