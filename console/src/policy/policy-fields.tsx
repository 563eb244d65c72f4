import { Group, NumberInput, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { components } from '../generated/api';

export type EffectivePolicy = components['schemas']['PolicyOut'];
export type PolicyValues = Omit<EffectivePolicy, 'sources'>;
export type PolicyKey = keyof PolicyValues;

interface FieldsProps {
  values: PolicyValues;
  disabled: boolean;
  set: (part: Partial<PolicyValues>) => void;
}

/** The inputs of one value of a policy. */
export function PolicyFields({ name, ...fields }: FieldsProps & { name: PolicyKey }) {
  if (name === 'mass_block') return <MassBlock {...fields} />;
  if (name === 'active_hours') return <ActiveHours {...fields} />;
  if (name === 'opt_out') return <OptOut {...fields} />;
  if (name === 'reject_calls') return <RejectCalls {...fields} />;
  return <Count name={name} {...fields} />;
}

const MAXIMA = { messages_per_minute: 6_000, new_contacts_per_day: 100_000, menu_ttl_hours: 168 };

type CountName = keyof typeof MAXIMA;

function Count({ name, values, disabled, set }: FieldsProps & { name: CountName }) {
  const { t } = useTranslation();
  return (
    <NumberInput
      aria-label={t(`policy.keys.${name}.title`)}
      min={name === 'new_contacts_per_day' ? 0 : 1}
      max={MAXIMA[name]}
      allowDecimal={false}
      maw={160}
      disabled={disabled}
      value={values[name]}
      onChange={(value) => set({ [name]: Number(value) })}
    />
  );
}

function MassBlock({ values: { mass_block: block }, disabled, set }: FieldsProps) {
  const { t } = useTranslation();
  return (
    <Group>
      <NumberInput
        label={t('policy.fields.contacts')}
        min={1}
        max={10_000}
        allowDecimal={false}
        w={160}
        disabled={disabled}
        value={block.max_contacts}
        onChange={(value) => set({ mass_block: { ...block, max_contacts: Number(value) } })}
      />
      <NumberInput
        label={t('policy.fields.minutes')}
        min={1}
        max={1440}
        allowDecimal={false}
        w={160}
        disabled={disabled}
        value={block.window_minutes}
        onChange={(value) => set({ mass_block: { ...block, window_minutes: Number(value) } })}
      />
    </Group>
  );
}

const OFFICE_HOURS = {
  start: '08:00',
  end: '18:00',
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  outside: 'schedule' as const,
};
const TIME_ZONES = Intl.supportedValuesOf('timeZone');

function ActiveHours({ values: { active_hours: hours }, disabled, set }: FieldsProps) {
  const { t } = useTranslation();
  const change = (part: Partial<typeof OFFICE_HOURS | NonNullable<typeof hours>>) =>
    set({ active_hours: { ...(hours ?? OFFICE_HOURS), ...part } });
  return (
    <Stack gap="sm">
      <Switch
        label={t('policy.fields.limitHours')}
        disabled={disabled}
        checked={hours !== null}
        onChange={(event) => set({ active_hours: event.currentTarget.checked ? OFFICE_HOURS : null })}
      />
      {hours && (
        <Group align="flex-end">
          <TextInput
            type="time"
            label={t('policy.fields.start')}
            disabled={disabled}
            required
            value={hours.start}
            onChange={(event) => change({ start: event.currentTarget.value })}
          />
          <TextInput
            type="time"
            label={t('policy.fields.end')}
            disabled={disabled}
            required
            value={hours.end}
            onChange={(event) => change({ end: event.currentTarget.value })}
          />
          <Select
            label={t('policy.fields.timezone')}
            data={TIME_ZONES}
            searchable
            limit={50}
            disabled={disabled}
            allowDeselect={false}
            value={hours.timezone}
            onChange={(timezone) => timezone !== null && change({ timezone })}
          />
          <Select
            label={t('policy.fields.outside')}
            data={[
              { value: 'schedule', label: t('policy.fields.schedule') },
              { value: 'reject', label: t('policy.fields.reject') },
            ]}
            disabled={disabled}
            allowDeselect={false}
            value={hours.outside}
            onChange={(outside) => outside !== null && change({ outside })}
          />
        </Group>
      )}
    </Stack>
  );
}

function OptOut({ values: { opt_out: words }, disabled, set }: FieldsProps) {
  const { t } = useTranslation();
  return (
    <Stack gap="sm">
      <Switch
        label={t('policy.fields.recognise')}
        disabled={disabled}
        checked={words.enabled}
        onChange={(event) => set({ opt_out: { ...words, enabled: event.currentTarget.checked } })}
      />
      <TagsInput
        label={t('policy.fields.keywords')}
        maxTags={20}
        readOnly={disabled}
        value={words.keywords}
        onChange={(keywords) => set({ opt_out: { ...words, keywords } })}
      />
      <TagsInput
        label={t('policy.fields.resume')}
        maxTags={20}
        readOnly={disabled}
        value={words.resume_keywords}
        onChange={(keywords) => set({ opt_out: { ...words, resume_keywords: keywords } })}
      />
    </Stack>
  );
}

function RejectCalls({ values: { reject_calls: calls }, disabled, set }: FieldsProps) {
  const { t } = useTranslation();
  return (
    <Stack gap="sm">
      <Switch
        label={t('policy.fields.rejectCalls')}
        disabled={disabled}
        checked={calls.enabled}
        onChange={(event) => set({ reject_calls: { ...calls, enabled: event.currentTarget.checked } })}
      />
      <Textarea
        label={t('policy.fields.callText')}
        autosize
        minRows={2}
        maxLength={4096}
        disabled={disabled}
        value={calls.text ?? ''}
        onChange={(event) => set({ reject_calls: { ...calls, text: event.currentTarget.value || null } })}
      />
    </Stack>
  );
}
