// What cannot be seen, as for the server; some signs are seen behind those that they join or change.

const JOINED = String.raw`\u0600-\u061b\u061d-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\u1900-\u1cff\ua840-\uabff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\u{10a00}-\u{11fff}\u{1e900}-\u{1e95f}`;
const PICTURED = String.raw`\u2190-\u27ff\u2801-\u2bff\u{1f000}-\u{1faff}`;

export const UNSEEN = new RegExp(String.raw`(?![\n\t\u200c\u200d\ufe0e\ufe0f])[\p{Cc}\p{Co}\p{DI}\p{NChar}\p{Zl}\p{Zp}\u2800\ufff9-\ufffb\u{13430}-\u{1343f}\u{e0000}-\u{effff}]|(?<![${JOINED}])\u200c|(?<![${JOINED}${PICTURED}]|[${PICTURED}]\ufe0f)\u200d|(?<![${PICTURED}\d#*©®‼⁉™ℹ〰〽㊗㊙])[\ufe0e\ufe0f]`, "gu");
